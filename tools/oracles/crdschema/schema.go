package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitionvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var scheme = runtime.NewScheme()

func init() { install.Install(scheme) }

// validateDefinition validates a whole CustomResourceDefinition, as for a create, or for an update when Old is given.
func validateDefinition(request *Request) (any, error) {
	definition, err := internalDefinition(request.Object)
	if err != nil {
		return nil, err
	}
	var errors field.ErrorList
	if request.Old == nil {
		errors = definitionvalidation.ValidateCustomResourceDefinition(context.Background(), definition)
	} else {
		old, err := internalDefinition(request.Old)
		if err != nil {
			return nil, err
		}
		errors = definitionvalidation.ValidateCustomResourceDefinitionUpdate(context.Background(), definition, old)
	}
	return map[string]any{"errors": render(errors)}, nil
}

func internalDefinition(document []byte) (*apiextensions.CustomResourceDefinition, error) {
	versioned := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(document, versioned); err != nil {
		return nil, err
	}
	scheme.Default(versioned)
	internal := &apiextensions.CustomResourceDefinition{}
	return internal, scheme.Convert(versioned, internal, nil)
}

// processResource prunes, defaults and validates an object, as a write to the API server does.
// Schema is an openAPIV3Schema; Status asks for the status endpoint.
func processResource(request *Request) (any, error) {
	versioned := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(request.Schema, versioned); err != nil {
		return nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(versioned, internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	object, err := decode(request.Object)
	if err != nil {
		return nil, err
	}
	unknown := pruning.PruneWithOptions(object, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(object, structural)
	coercion, metadata := objectmeta.CoerceWithOptions(nil, object, structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if coercion != nil {
		return map[string]any{"coercion": coercion.Error()}, nil
	}
	answer := map[string]any{"unknown": list(append(unknown, metadata...))}
	answer["pruned"] = runtime.DeepCopyJSON(object)
	defaulting.Default(object, structural)
	answer["defaulted"] = runtime.DeepCopyJSON(object)
	errors, err := validateResource(request, internal, structural, object)
	answer["errors"] = render(errors)
	return answer, err
}

func validateResource(request *Request, internal *apiextensions.JSONSchemaProps, structural *structuralschema.Structural, object map[string]any) (field.ErrorList, error) {
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	var statusValidator validation.SchemaValidator
	if status, ok := internal.Properties["status"]; ok {
		if statusValidator, _, err = validation.NewSchemaValidator(&status); err != nil {
			return nil, err
		}
	}
	kind := schema.FromAPIVersionAndKind(fmt.Sprint(object["apiVersion"]), fmt.Sprint(object["kind"]))
	strategy := customresource.NewStrategy(nil, true, kind, validator, statusValidator, structural, nil, nil, nil)
	ctx := context.Background()
	if request.Old == nil {
		return strategy.Validate(ctx, &unstructured.Unstructured{Object: object}), nil
	}
	old, err := decode(request.Old)
	if err != nil {
		return nil, err
	}
	if request.Status {
		return customresource.NewStatusStrategy(strategy).ValidateUpdate(ctx, &unstructured.Unstructured{Object: object}, &unstructured.Unstructured{Object: old}), nil
	}
	return strategy.ValidateUpdate(ctx, &unstructured.Unstructured{Object: object}, &unstructured.Unstructured{Object: old}), nil
}

func decode(document []byte) (map[string]any, error) {
	var object map[string]any
	return object, utiljson.Unmarshal(document, &object)
}
