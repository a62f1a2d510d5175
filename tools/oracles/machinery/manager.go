package main

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// manager is one field manager, either for a built-in kind with its Go type, or for a custom kind.
type manager struct {
	typed   bool
	gvk     schema.GroupVersionKind
	manager *managedfields.FieldManager
	creater runtime.ObjectCreater
}

var managers = map[string]*manager{}

func managerNew(args json.RawMessage) (any, error) {
	var a struct {
		Name        string                       `json:"name"`
		Schema      string                       `json:"schema"` // empty: deduced
		Group       string                       `json:"group"`
		Version     string                       `json:"version"`
		Kind        string                       `json:"kind"`
		Subresource string                       `json:"subresource"`
		Reset       []string                     `json:"reset"` // fields at the top of the object
		Typed       bool                         `json:"typed"`
		Versions    map[string]map[string]string `json:"versions"` // of a custom kind: field of spec in the hub -> its name there
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	converter := managedfields.NewDeducedTypeConverter()
	if a.Schema != "" {
		s, ok := schemas[a.Schema]
		if !ok {
			return nil, fmt.Errorf("no schema %q was registered", a.Schema)
		}
		converter = s.converter
	}
	m := &manager{typed: a.Typed, gvk: schema.GroupVersionKind{Group: a.Group, Version: a.Version, Kind: a.Kind}}
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	if len(a.Reset) > 0 {
		set := fieldpath.NewSet()
		for _, name := range a.Reset {
			set.Insert(fieldpath.MakePathOrDie(name))
		}
		reset[fieldpath.APIVersion(m.gvk.GroupVersion().String())] = set
		for version := range a.Versions {
			reset[fieldpath.APIVersion(schema.GroupVersion{Group: a.Group, Version: version}.String())] = set
		}
	}
	filter := fieldpath.NewExcludeFilterSetMap(reset)
	var err error
	if a.Typed {
		m.creater = scheme.Scheme
		m.manager, err = managedfields.NewDefaultFieldManager(converter, scheme.Scheme, noDefaults{}, scheme.Scheme, m.gvk, m.gvk.GroupVersion(), a.Subresource, filter)
	} else {
		custom := customKind{group: a.Group, versions: a.Versions}
		m.creater = custom
		hub := schema.GroupVersion{Group: a.Group, Version: "hub"}
		m.manager, err = managedfields.NewDefaultCRDFieldManager(converter, custom, noDefaults{}, custom, m.gvk, hub, a.Subresource, filter)
	}
	managers[a.Name] = m
	return nil, err
}

type managerArgs struct {
	Name    string          `json:"name"`
	Live    json.RawMessage `json:"live"`
	New     json.RawMessage `json:"new"`
	Manager string          `json:"manager"`
	Force   bool            `json:"force"`
}

func (m *manager) object(data json.RawMessage) (runtime.Object, error) {
	if len(data) == 0 || string(data) == "null" {
		return m.creater.New(m.gvk)
	}
	if !m.typed {
		v, err := decode(data)
		if err != nil {
			return nil, err
		}
		return &unstructured.Unstructured{Object: v.(map[string]any)}, nil
	}
	object, err := scheme.Scheme.New(m.gvk)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, object); err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(m.gvk)
	return object, nil
}

func (m *manager) encode(object runtime.Object) (any, error) {
	if !m.typed {
		// An apply ends in the version that is stored.
		converted, err := m.creater.(customKind).ConvertToVersion(object, m.gvk.GroupVersion())
		if err != nil {
			return nil, err
		}
		return converted.(*unstructured.Unstructured).Object, nil
	}
	object.GetObjectKind().SetGroupVersionKind(m.gvk)
	return object, nil
}

func (a managerArgs) find(args json.RawMessage) (*manager, managerArgs, error) {
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, a, err
	}
	m, ok := managers[a.Name]
	if !ok {
		return nil, a, fmt.Errorf("no manager %q was made", a.Name)
	}
	return m, a, nil
}

func managerUpdate(args json.RawMessage) (any, error) {
	m, a, err := managerArgs{}.find(args)
	if err != nil {
		return nil, err
	}
	live, err := m.object(a.Live)
	if err != nil {
		return nil, err
	}
	object, err := m.object(a.New)
	if err != nil {
		return nil, err
	}
	return m.encode(m.manager.UpdateNoErrors(live, object, a.Manager))
}

func managerApply(args json.RawMessage) (any, error) {
	m, a, err := managerArgs{}.find(args)
	if err != nil {
		return nil, err
	}
	live, err := m.object(a.Live)
	if err != nil {
		return nil, err
	}
	applied, err := decode(a.New)
	if err != nil {
		return nil, err
	}
	object, err := m.manager.Apply(live, &unstructured.Unstructured{Object: applied.(map[string]any)}, a.Manager, a.Force)
	if err != nil {
		return nil, err
	}
	return m.encode(object)
}

// managerRoundTrip tells how an object looks once it went through its Go type.
func managerRoundTrip(args json.RawMessage) (any, error) {
	m, a, err := managerArgs{}.find(args)
	if err != nil {
		return nil, err
	}
	object, err := m.object(a.New)
	if err != nil {
		return nil, err
	}
	return m.encode(object)
}

// failure keeps what a Status says beside its message.
func failure(err error) map[string]any {
	result := map[string]any{"error": err.Error()}
	if status, ok := err.(apierrors.APIStatus); ok {
		result["reason"] = status.Status().Reason
		if details := status.Status().Details; details != nil {
			result["causes"] = details.Causes
		}
	}
	return result
}

// noDefaults leaves objects alone: defaults are not what is asked about.
type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

// customKind converts between versions of a custom kind by renaming fields of spec.
type customKind struct {
	group    string
	versions map[string]map[string]string
}

func (c customKind) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	return u, nil
}

func (c customKind) Convert(in, out, context any) error { return fmt.Errorf("not used") }

func (c customKind) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return "", "", fmt.Errorf("not used")
}

func (c customKind) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind()
	to, ok := gv.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if !ok {
		return nil, runtime.NewNotRegisteredErrForTarget("custom", nil, gv)
	}
	out := in.DeepCopyObject().(*unstructured.Unstructured)
	out.SetGroupVersionKind(to)
	if from.Version == to.Version || len(c.versions) == 0 {
		return out, nil
	}
	spec, ok := out.Object["spec"].(map[string]any)
	if _, known := c.versions[to.Version]; !known && to.Version != "hub" {
		return nil, runtime.NewNotRegisteredErrForKind("custom", to)
	}
	if ok {
		out.Object["spec"] = rename(rename(spec, reversed(c.versions[from.Version])), c.versions[to.Version])
	}
	return out, nil
}

func rename(fields map[string]any, names map[string]string) map[string]any {
	out := map[string]any{}
	for field, value := range fields {
		if name, ok := names[field]; ok {
			field = name
		}
		out[field] = value
	}
	return out
}

func reversed(names map[string]string) map[string]string {
	out := map[string]string{}
	for from, to := range names {
		out[to] = from
	}
	return out
}

type scaleArgs struct {
	Entries      []metav1.ManagedFieldsEntry `json:"entries"`
	Scale        []metav1.ManagedFieldsEntry `json:"scale"`
	GroupVersion schema.GroupVersion         `json:"groupVersion"`
	Mappings     map[string][]string         `json:"mappings"`
}

func (a scaleArgs) handler() *managedfields.ScaleHandler {
	mappings := managedfields.ResourcePathMappings{}
	for version, names := range a.Mappings {
		var path fieldpath.Path
		for i := range names {
			path = append(path, fieldpath.PathElement{FieldName: &names[i]})
		}
		mappings[version] = path
	}
	return managedfields.NewScaleHandler(a.Entries, a.GroupVersion, mappings)
}

func scaleToSubresource(args json.RawMessage) (any, error) {
	var a scaleArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	return a.handler().ToSubresource()
}

func scaleToParent(args json.RawMessage) (any, error) {
	var a scaleArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	return a.handler().ToParent(a.Scale)
}

func ignoreTimestamps(args json.RawMessage) (any, error) {
	m, a, err := managerArgs{}.find(args)
	if err != nil {
		return nil, err
	}
	live, err := m.object(a.Live)
	if err != nil {
		return nil, err
	}
	object, err := m.object(a.New)
	if err != nil {
		return nil, err
	}
	return withoutTimestampChanges(context.Background(), object, live, m)
}
