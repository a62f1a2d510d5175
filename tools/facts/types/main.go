// Prints, as JSON, what the Go types of the served kinds say of their two encodings: for every field its protobuf
// number and type, its JSON name, and when JSON leaves it out. Struct tags carry both, so reflection sees all of it.
package main

import (
	"encoding/json"
	"log"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Field is one field of a message.
type Field struct {
	Number int    `json:"number"`
	Name   string `json:"name"` // in JSON; empty for an inlined message
	Kind   string `json:"kind"` // a scalar's Go kind, "bytes", "message" or "custom"
	Type   string `json:"type,omitempty"`
	// How the value is held: "", "pointer", "list" or "map" (the key is always a string).
	Holder string `json:"holder,omitempty"`
	Omit   string `json:"omit,omitempty"` // "", "empty" or "zero"
}

// Facts are all messages that the kinds are made of.
type Facts struct {
	Kinds    map[string]map[string]string `json:"kinds"` // apiVersion → kind → message
	Messages map[string][]Field           `json:"messages"`
}

type unmarshaler interface{ Unmarshal([]byte) error }

var (
	marshalerType   = reflect.TypeFor[json.Marshaler]()
	unmarshalerType = reflect.TypeFor[unmarshaler]()
)

func main() {
	log.SetFlags(0)
	facts := Facts{Kinds: map[string]map[string]string{}, Messages: map[string][]Field{}}
	for gvk, known := range served().AllKnownTypes() {
		// The internal version has no encoding; a watch event is sent by servers only.
		encoded := gvk.Version != runtime.APIVersionInternal && isMessage(known)
		if !encoded || gvk.Kind == "WatchEvent" {
			continue
		}
		api := gvk.GroupVersion().String()
		if facts.Kinds[api] == nil {
			facts.Kinds[api] = map[string]string{}
		}
		facts.Kinds[api][gvk.Kind] = facts.message(known)
	}
	if err := json.NewEncoder(os.Stdout).Encode(facts); err != nil {
		log.Fatal(err)
	}
}

// message records a type and everything below it, and returns its name.
func (f *Facts) message(t reflect.Type) string {
	name := t.PkgPath() + "." + t.Name()
	if _, done := f.Messages[name]; done {
		return name
	}
	f.Messages[name] = []Field{}   // before its fields: types may be recursive
	if t.Kind() == reflect.Slice { // a named list is a message with one field
		f.Messages[name] = []Field{f.typed(Field{Number: 1}, t)}
		return name
	}
	for i := range t.NumField() {
		if field, ok := f.field(name, t.Field(i)); ok {
			f.Messages[name] = append(f.Messages[name], field)
		}
	}
	slices.SortFunc(f.Messages[name], func(a, b Field) int { return a.Number - b.Number })
	return name
}

func (f *Facts) field(owner string, of reflect.StructField) (Field, bool) {
	number, encoded := protobufNumber(of)
	jsonName, options, _ := strings.Cut(of.Tag.Get("json"), ",")
	field := Field{Number: number, Name: jsonName}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty", "omitzero":
			field.Omit = strings.TrimPrefix(option, "omit")
		}
	}
	if !encoded {
		if of.Type.Name() != "TypeMeta" && jsonName != "-" && field.Omit == "" {
			log.Fatalf("%s.%s is in JSON but not in protobuf", owner, of.Name)
		}
		return field, false
	}
	if jsonName == "" && !strings.Contains(options, "inline") && !of.Anonymous {
		log.Fatalf("%s.%s has no JSON name", owner, of.Name)
	}
	return f.typed(field, of.Type), true
}

// typed completes a field with how its Go type is held and encoded.
func (f *Facts) typed(field Field, t reflect.Type) Field {
	switch {
	case t.Kind() == reflect.Pointer:
		field.Holder, t = "pointer", t.Elem()
	case field.Name != "" && isMessage(t): // a named list
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		field.Holder, t = "list", t.Elem()
	case t.Kind() == reflect.Map:
		field.Holder, t = "map", t.Elem()
	}
	if field.Name == "" && field.Holder == "pointer" {
		log.Fatalf("%s is inlined by pointer: the decoder does not know how", t)
	}
	switch {
	case t.Implements(marshalerType):
		field.Kind, field.Type = "custom", t.PkgPath()+"."+t.Name()
		if t.Kind() == reflect.Struct {
			f.customParts(t)
		}
	case isMessage(t):
		field.Kind, field.Type = "message", f.message(t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		field.Kind = "bytes"
	default:
		field.Kind = t.Kind().String()
	}
	return field
}

// customParts records the messages below a type with its own JSON form, such as the schema or bool of a CRD.
func (f *Facts) customParts(t reflect.Type) {
	for i := range t.NumField() {
		if _, encoded := protobufNumber(t.Field(i)); !encoded {
			continue
		}
		part := t.Field(i).Type
		if part.Kind() == reflect.Pointer || part.Kind() == reflect.Slice {
			part = part.Elem()
		}
		if isMessage(part) && !part.Implements(marshalerType) {
			f.message(part)
		}
	}
}

func isMessage(t reflect.Type) bool { return reflect.PointerTo(t).Implements(unmarshalerType) }

func protobufNumber(of reflect.StructField) (int, bool) {
	parts := strings.Split(of.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0, false
	}
	number, err := strconv.Atoi(parts[1])
	if err != nil {
		log.Fatalf("%s has the protobuf number %q", of.Name, parts[1])
	}
	return number, true
}
