// Command machinery answers, with the libraries that kube-apiserver is made of, what our Python machinery must answer.
//
// It reads one JSON request a line and writes one JSON answer a line: {"result": ...} or {"error": "..."}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	kjson "k8s.io/apimachinery/pkg/util/json"
)

type request struct {
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args"`
}

type handler func(args json.RawMessage) (any, error)

var handlers = map[string]handler{
	"patch.json":         jsonPatch,
	"patch.merge":        mergePatch,
	"patch.strategic":    strategicPatch,
	"schema":             registerSchema,
	"typed.fields":       typedFields,
	"typed.merge":        typedMerge,
	"typed.compare":      typedCompare,
	"typed.remove":       typedRemove,
	"typed.extract":      typedExtract,
	"typed.reconcile":    typedReconcile,
	"typed.named":        typedNamed,
	"typed.validate":     typedValidate,
	"set.normalize":      setNormalize,
	"set.combine":        setCombine,
	"set.paths":          setPaths,
	"manager.new":        managerNew,
	"manager.update":     managerUpdate,
	"manager.apply":      managerApply,
	"manager.roundtrip":  managerRoundTrip,
	"manager.timestamps": ignoreTimestamps,
	"scale.parent":       scaleToParent,
	"scale.sub":          scaleToSubresource,
	"zero":               zeroFields,
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		answer, err := json.Marshal(answer(line))
		if err != nil {
			answer, _ = json.Marshal(map[string]any{"failure": err.Error()})
		}
		out.Write(answer)
		out.WriteByte('\n')
		out.Flush()
	}
}

// answer never lets a panic out: a library that panics is an answer too.
func answer(line []byte) (result map[string]any) {
	defer func() {
		if r := recover(); r != nil {
			result = map[string]any{"error": fmt.Sprint(r), "panic": true}
		}
	}()
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return map[string]any{"failure": err.Error()}
	}
	h, ok := handlers[r.Op]
	if !ok {
		return map[string]any{"failure": "unknown op " + r.Op}
	}
	value, err := h(r.Args)
	if err != nil {
		return failure(err)
	}
	return map[string]any{"result": value}
}

// decode keeps integers apart from floats, as the API server does.
func decode(data json.RawMessage) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var v any
	err := kjson.Unmarshal(data, &v)
	return v, err
}
