package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Specimen has one field for each marker.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=specimens,singular=specimen,shortName=spc;spm,categories=zoo;all,scope=Namespaced
// +kubebuilder:printcolumn:name="Replicas",type=integer,format=int32,JSONPath=`.spec.replicas`,description="wanted",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.spec.selectable`
// +kubebuilder:metadata:labels="purpose=test",annotations="note=keep"
// +kubebuilder:storageversion
type Specimen struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec SpecimenSpec `json:"spec"`
	// +optional
	Status SpecimenStatus `json:"status,omitempty"`
}

// SpecimenStatus is what was seen.
type SpecimenStatus struct {
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// +optional
	Selector string `json:"selector,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SpecimenSpec is what is wanted.
type SpecimenSpec struct {
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// +kubebuilder:validation:Minimum=2
	// +optional
	Minimum *int64 `json:"minimum,omitempty"`
	// +kubebuilder:validation:Maximum=5
	// +optional
	Maximum *int64 `json:"maximum,omitempty"`
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +optional
	ExclusiveMinimum *int64 `json:"exclusiveMinimum,omitempty"`
	// +kubebuilder:validation:Maximum=5
	// +kubebuilder:validation:ExclusiveMaximum=true
	// +optional
	ExclusiveMaximum *int64 `json:"exclusiveMaximum,omitempty"`
	// +kubebuilder:validation:MultipleOf=3
	// +optional
	MultipleOf *int64 `json:"multipleOf,omitempty"`
	// +kubebuilder:validation:MinLength=2
	// +optional
	MinLength *string `json:"minLength,omitempty"`
	// +kubebuilder:validation:MaxLength=3
	// +optional
	MaxLength *string `json:"maxLength,omitempty"`
	// +kubebuilder:validation:Pattern=`^[a-z]+$`
	// +optional
	Pattern *string `json:"pattern,omitempty"`
	// +kubebuilder:validation:MinItems=2
	// +optional
	MinItems []string `json:"minItems,omitempty"`
	// +kubebuilder:validation:MaxItems=2
	// +optional
	MaxItems []string `json:"maxItems,omitempty"`
	// +kubebuilder:validation:MinProperties=2
	// +optional
	MinProperties map[string]string `json:"minProperties,omitempty"`
	// +kubebuilder:validation:MaxProperties=2
	// +optional
	MaxProperties map[string]string `json:"maxProperties,omitempty"`
	// +kubebuilder:validation:Enum=Red;Blue
	// +optional
	Enum *string `json:"enum,omitempty"`
	// +optional
	NamedEnum Colour `json:"namedEnum,omitempty"`
	// +kubebuilder:validation:Enum=1;2
	// +optional
	IntegerEnum *int64 `json:"integerEnum,omitempty"`
	// +kubebuilder:validation:Format=ipv4
	// +optional
	Format *string `json:"format,omitempty"`
	// +optional
	SchemaType *Opaque `json:"schemaType,omitempty"`
	// +optional
	Int32 *int32 `json:"int32,omitempty"`
	// +optional
	Boolean *bool `json:"boolean,omitempty"`
	// +optional
	Bytes []byte `json:"bytes,omitempty"`
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// +optional
	MicroTime *metav1.MicroTime `json:"microTime,omitempty"`
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
	// +optional
	Quantity *resource.Quantity `json:"quantity,omitempty"`
	// +optional
	IntOrString *intstr.IntOrString `json:"intOrString,omitempty"`
	// +optional
	Required *RequiredFields `json:"required,omitempty"`
	// +kubebuilder:default=7
	// +optional
	Default *int64 `json:"default,omitempty"`
	// +kubebuilder:default={a: "b"}
	// +optional
	DefaultObject map[string]string `json:"defaultObject,omitempty"`
	// +nullable
	// +optional
	Nullable *string `json:"nullable,omitempty"`
	// +kubebuilder:example=hello
	// +kubebuilder:title="A title"
	// +optional
	Example *string `json:"example,omitempty"`
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:Pattern=`^a`
	// +optional
	Items []string `json:"items,omitempty"`
	// +kubebuilder:validation:XValidation:rule="self.startsWith('a')",message="must start with a",reason=FieldValueInvalid
	// +kubebuilder:validation:XValidation:rule="self.size() < 5",messageExpression="'too long: ' + self"
	// +kubebuilder:validation:MaxLength=10
	// +optional
	Rule *string `json:"rule,omitempty"`
	// +k8s:immutable
	// +kubebuilder:validation:MaxLength=10
	// +optional
	Immutable *string `json:"immutable,omitempty"`
	// +optional
	ExactlyOne *ExactlyOne `json:"exactlyOne,omitempty"`
	// +optional
	AtMostOne *AtMostOne `json:"atMostOne,omitempty"`
	// +optional
	AtLeastOne *AtLeastOne `json:"atLeastOne,omitempty"`
	// +optional
	TypeRule *TypeRule `json:"typeRule,omitempty"`
	// +optional
	Raw *runtime.RawExtension `json:"raw,omitempty"`
	// +optional
	AnyJSON *apiextensionsv1.JSON `json:"anyJSON,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	PreserveUnknown *Named `json:"preserveUnknown,omitempty"`
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Embedded *runtime.RawExtension `json:"embedded,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Schemaless *Named `json:"schemaless,omitempty"`
	// +listType=set
	// +optional
	ListSet []string `json:"listSet,omitempty"`
	// +listType=atomic
	// +optional
	ListAtomic []string `json:"listAtomic,omitempty"`
	// +listType=map
	// +listMapKey=name
	// +optional
	ListMap []Named `json:"listMap,omitempty"`
	// +mapType=atomic
	// +optional
	MapAtomic map[string]string `json:"mapAtomic,omitempty"`
	// +mapType=granular
	// +optional
	MapGranular map[string]string `json:"mapGranular,omitempty"`
	// +structType=atomic
	// +optional
	StructAtomic *Named `json:"structAtomic,omitempty"`
	// +optional
	NamedBounds *Port `json:"namedBounds,omitempty"`
	// +optional
	Nested map[string][]Named `json:"nested,omitempty"`
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// +optional
	Template *Template `json:"template,omitempty"`
	// +optional
	Selectable *string `json:"selectable,omitempty"`
}

// Colour is one of two.
// +kubebuilder:validation:Enum=Red;Blue
type Colour string

// Port is a number of sixteen bits.
// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:Maximum=65535
type Port int32

// Opaque marshals itself.
// +kubebuilder:validation:Type=string
type Opaque struct{}

// RequiredFields has fields of which some must be there.
type RequiredFields struct {
	Zulu string `json:"zulu"`
	// +kubebuilder:validation:Required
	Alpha string `json:"alpha,omitempty"`
	// +kubebuilder:validation:Optional
	Mike string `json:"mike"`
}

// Named has a name.
type Named struct {
	Name string `json:"name"`
	// +optional
	Value string `json:"value,omitempty"`
}

// ExactlyOne needs one of two.
// +kubebuilder:validation:ExactlyOneOf=a;b
type ExactlyOne struct {
	// +optional
	A *string `json:"a,omitempty"`
	// +optional
	B *string `json:"b,omitempty"`
}

// AtMostOne allows one of two.
// +kubebuilder:validation:AtMostOneOf=a;b
type AtMostOne struct {
	// +optional
	A *string `json:"a,omitempty"`
	// +optional
	B *string `json:"b,omitempty"`
}

// AtLeastOne needs some of two.
// +kubebuilder:validation:AtLeastOneOf=a;b
type AtLeastOne struct {
	// +optional
	A *string `json:"a,omitempty"`
	// +optional
	B *string `json:"b,omitempty"`
}

// TypeRule compares its fields.
// +kubebuilder:validation:XValidation:rule="self.low <= self.high",message="low must not be above high",fieldPath=".low"
type TypeRule struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// Template makes objects.
type Template struct {
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
