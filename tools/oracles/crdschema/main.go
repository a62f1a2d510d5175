// Command crdschema answers what Kubernetes' own libraries make of a schema, an object or an expression.
//
// It reads one JSON request a line and writes one JSON answer a line, so that a test can ask thousands of questions
// of one process. The answers are what kube-apiserver of the same version would have said.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Request is one question. Op picks the handler; the other fields are its arguments.
type Request struct {
	Op     string            `json:"op"`
	Schema json.RawMessage   `json:"schema,omitempty"`
	Object json.RawMessage   `json:"object,omitempty"`
	Old    json.RawMessage   `json:"old,omitempty"`
	Status bool              `json:"status,omitempty"`
	Text   string            `json:"text,omitempty"`
	Value  string            `json:"value,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Types  map[string]string `json:"types,omitempty"`
}

// FieldError is a field.Error with its parts rendered.
type FieldError struct {
	Type    string `json:"type"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

type handler func(*Request) (any, error)

var handlers = map[string]handler{
	"cel":      evaluate,
	"crd":      validateDefinition,
	"fields":   parseFieldSelector,
	"format":   checkFormat,
	"labels":   parseLabelSelector,
	"names":    checkNames,
	"quote":    quote,
	"regexp":   matchRegexp,
	"resource": processResource,
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	decoder := json.NewDecoder(in)
	for decoder.More() {
		var request Request
		if err := decoder.Decode(&request); err != nil {
			fmt.Fprintln(os.Stderr, "crdschema: bad request:", err)
			os.Exit(1)
		}
		answer, err := json.Marshal(answerTo(&request))
		if err != nil {
			answer, _ = json.Marshal(map[string]string{"failure": err.Error()})
		}
		out.Write(answer)
		out.WriteByte('\n')
		out.Flush()
	}
}

func answerTo(request *Request) (answer any) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = map[string]string{"failure": fmt.Sprintf("panic: %v", cause)}
		}
	}()
	handle, ok := handlers[request.Op]
	if !ok {
		return map[string]string{"failure": "unknown op " + request.Op}
	}
	answer, err := handle(request)
	if err != nil {
		return map[string]string{"failure": err.Error()}
	}
	return answer
}

func render(errors field.ErrorList) []FieldError {
	rendered := make([]FieldError, 0, len(errors))
	for _, e := range errors {
		rendered = append(rendered, FieldError{Type: string(e.Type), Field: e.Field, Message: e.ErrorBody()})
	}
	return rendered
}

// list is the texts, with an empty list for none.
func list(texts []string) []string {
	return append([]string{}, texts...)
}
