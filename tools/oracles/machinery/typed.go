package main

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// registered keeps each set of definitions under its name: as a parser for single types, and as a type converter.
type registered struct {
	parser    typed.Parser
	converter managedfields.TypeConverter
}

var schemas = map[string]*registered{}

func registerSchema(args json.RawMessage) (any, error) {
	var a struct {
		Name        string                  `json:"name"`
		Definitions map[string]*spec.Schema `json:"definitions"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	converted, err := schemaconv.ToSchemaFromOpenAPI(a.Definitions, false)
	if err != nil {
		return nil, err
	}
	converter, err := managedfields.NewTypeConverter(a.Definitions, false)
	if err != nil {
		return nil, err
	}
	schemas[a.Name] = &registered{
		parser:    typed.Parser{Schema: smdschema.Schema{Types: converted.Types}},
		converter: converter,
	}
	return len(a.Definitions), nil
}

type typedArgs struct {
	Schema     string          `json:"schema"`
	Type       string          `json:"type"`
	Value      json.RawMessage `json:"value"`
	Other      json.RawMessage `json:"other"`
	Fields     json.RawMessage `json:"fields"`
	Duplicates bool            `json:"duplicates"`
	Keys       bool            `json:"keys"`
}

func (a typedArgs) parseable() (typed.ParseableType, error) {
	if a.Schema == "" {
		return typed.DeducedParseableType, nil
	}
	s, ok := schemas[a.Schema]
	if !ok {
		return typed.ParseableType{}, fmt.Errorf("no schema %q was registered", a.Schema)
	}
	return s.parser.Type(a.Type), nil
}

func (a typedArgs) typed(t typed.ParseableType, data json.RawMessage) (*typed.TypedValue, error) {
	v, err := decode(data)
	if err != nil {
		return nil, err
	}
	if a.Duplicates {
		return t.FromUnstructured(v, typed.AllowDuplicates)
	}
	return t.FromUnstructured(v)
}

// one reads the type and the first value, which every operation needs.
func one(args json.RawMessage) (typedArgs, typed.ParseableType, *typed.TypedValue, error) {
	var a typedArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return a, typed.ParseableType{}, nil, err
	}
	t, err := a.parseable()
	if err != nil {
		return a, t, nil, err
	}
	v, err := a.typed(t, a.Value)
	return a, t, v, err
}

func two(args json.RawMessage) (*typed.TypedValue, *typed.TypedValue, error) {
	a, t, v, err := one(args)
	if err != nil {
		return nil, nil, err
	}
	other, err := a.typed(t, a.Other)
	return v, other, err
}

func typedValidate(args json.RawMessage) (any, error) {
	_, _, _, err := one(args)
	return nil, err
}

func typedFields(args json.RawMessage) (any, error) {
	_, _, v, err := one(args)
	if err != nil {
		return nil, err
	}
	set, err := v.ToFieldSet()
	if err != nil {
		return nil, err
	}
	return encodeSet(set)
}

func typedMerge(args json.RawMessage) (any, error) {
	v, other, err := two(args)
	if err != nil {
		return nil, err
	}
	merged, err := v.Merge(other)
	if err != nil {
		return nil, err
	}
	return merged.AsValue().Unstructured(), nil
}

func typedCompare(args json.RawMessage) (any, error) {
	v, other, err := two(args)
	if err != nil {
		return nil, err
	}
	c, err := v.Compare(other)
	if err != nil {
		return nil, err
	}
	result := map[string]any{}
	for name, set := range map[string]*fieldpath.Set{"added": c.Added, "modified": c.Modified, "removed": c.Removed} {
		if result[name], err = encodeSet(set); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func typedRemove(args json.RawMessage) (any, error) {
	a, _, v, err := one(args)
	if err != nil {
		return nil, err
	}
	set, err := decodeSet(a.Fields)
	if err != nil {
		return nil, err
	}
	return v.RemoveItems(set).AsValue().Unstructured(), nil
}

func typedExtract(args json.RawMessage) (any, error) {
	a, _, v, err := one(args)
	if err != nil {
		return nil, err
	}
	set, err := decodeSet(a.Fields)
	if err != nil {
		return nil, err
	}
	if a.Keys {
		return v.ExtractItems(set, typed.WithAppendKeyFields()).AsValue().Unstructured(), nil
	}
	return v.ExtractItems(set).AsValue().Unstructured(), nil
}

func typedReconcile(args json.RawMessage) (any, error) {
	a, _, v, err := one(args)
	if err != nil {
		return nil, err
	}
	set, err := decodeSet(a.Fields)
	if err != nil {
		return nil, err
	}
	reconciled, err := typed.ReconcileFieldSetWithSchema(set, v)
	if err != nil {
		return nil, err
	}
	if reconciled == nil {
		reconciled = set
	}
	return encodeSet(reconciled)
}

func typedNamed(args json.RawMessage) (any, error) {
	a, t, _, err := one(args)
	if err != nil {
		return nil, err
	}
	set, err := decodeSet(a.Fields)
	if err != nil {
		return nil, err
	}
	return encodeSet(set.EnsureNamedFieldsAreMembers(t.Schema, t.TypeRef))
}
