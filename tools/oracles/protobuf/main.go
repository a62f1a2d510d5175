// Protobuf bodies of built-in kinds and the JSON that Kubernetes makes of them, one case a line.
//
//	protobuf make SEED COUNT   COUNT random objects of every kind
//	protobuf read              bodies in base64 from standard input, one a line: their JSON, or why there is none
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// Case is one body and what it means.
type Case struct {
	Body  []byte          `json:"body"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

var (
	scheme = served()
	codec  = protobuf.NewSerializer(scheme, scheme)
	output = json.NewEncoder(os.Stdout)
)

func main() {
	log.SetFlags(0)
	switch {
	case len(os.Args) == 4 && os.Args[1] == "make":
		seed, _ := strconv.ParseInt(os.Args[2], 10, 64)
		count, _ := strconv.Atoi(os.Args[3])
		makeCases(seed, count)
	case len(os.Args) == 2 && os.Args[1] == "read":
		readCases()
	default:
		log.Fatal("usage: protobuf make SEED COUNT | protobuf read")
	}
}

func makeCases(seed int64, count int) {
	for _, gvk := range sendable() {
		for i := range count {
			object, err := scheme.New(gvk)
			check(err)
			filler(seed + int64(i)).Fill(object)
			object.GetObjectKind().SetGroupVersionKind(gvk)
			body, err := runtime.Encode(codec, object)
			check(err)
			made := read(body)
			if made.Error != "" {
				log.Fatalf("%s: %s", gvk, made.Error)
			}
			check(output.Encode(made))
		}
	}
}

func readCases() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		body, err := base64.StdEncoding.DecodeString(lines.Text())
		check(err)
		check(output.Encode(read(body)))
	}
	check(lines.Err())
}

// read does what the server does with a body, and then writes the object as JSON.
func read(body []byte) Case {
	object, gvk, err := codec.Decode(body, nil, nil)
	if err != nil {
		return Case{Body: body, Error: err.Error()}
	}
	object.GetObjectKind().SetGroupVersionKind(*gvk)
	written, err := json.Marshal(object)
	if err != nil {
		return Case{Body: body, Error: err.Error()}
	}
	return Case{Body: body, JSON: written}
}

// sendable are the kinds with a protobuf form, in a stable order; those of every group once.
func sendable() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for gvk, known := range scheme.AllKnownTypes() {
		shared := strings.HasPrefix(known.PkgPath(), "k8s.io/apimachinery/") && gvk.GroupVersion().String() != "v1"
		object, err := scheme.New(gvk)
		check(err)
		_, encodes := object.(interface{ Unmarshal([]byte) error })
		// A watch event is sent by servers, and does not keep its kind.
		if gvk.Version != runtime.APIVersionInternal && gvk.Kind != "WatchEvent" && encodes && !shared {
			kinds = append(kinds, gvk)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
