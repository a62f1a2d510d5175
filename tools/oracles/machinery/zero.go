package main

import (
	"encoding/json"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func init() {
	for _, add := range []func(*runtime.Scheme) error{apiextensions.AddToScheme, apiregistration.AddToScheme} {
		if err := add(scheme.Scheme); err != nil {
			panic(err)
		}
	}
}

// zeroFields lists, for every struct of the built-in API by its OpenAPI name, what its zero value is in JSON, one level
// deep: the fields that Go writes even where nobody set them.
func zeroFields(json.RawMessage) (any, error) {
	seen := map[reflect.Type]bool{}
	out := map[string]map[string]any{}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal {
			visitType(t, seen, out)
		}
	}
	return out, nil
}

func visitType(t reflect.Type, seen map[reflect.Type]bool, out map[string]map[string]any) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		visitType(t.Elem(), seen, out)
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[t] {
		return
	}
	seen[t] = true
	if zero, ok := zeroOf(t); ok {
		out[definitionName(t)] = zero
	}
	for i := range t.NumField() {
		visitType(t.Field(i).Type, seen, out)
	}
}

func zeroOf(t reflect.Type) (map[string]any, bool) {
	data, err := json.Marshal(reflect.New(t).Interface())
	if err != nil {
		return nil, false
	}
	zero := map[string]any{}
	if json.Unmarshal(data, &zero) != nil {
		return nil, false // not an object: Time, Quantity and the like
	}
	for field, value := range zero {
		if _, ok := value.(map[string]any); ok {
			zero[field] = map[string]any{}
		}
	}
	return zero, true
}

func definitionName(t reflect.Type) string {
	path := strings.Replace(t.PkgPath(), "k8s.io/", "io.k8s.", 1)
	return strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}
