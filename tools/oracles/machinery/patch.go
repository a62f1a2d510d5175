package main

import (
	"encoding/json"
	"errors"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

type patchArgs struct {
	Document json.RawMessage `json:"document"`
	Patch    json.RawMessage `json:"patch"`
	Group    string          `json:"group"`
	Version  string          `json:"version"`
	Kind     string          `json:"kind"`
}

// The limit that kube-apiserver sets.
func init() { jsonpatch.AccumulatedCopySizeLimit = 3 * 1024 * 1024 }

func jsonPatch(args json.RawMessage) (any, error) {
	var a patchArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(a.Patch)
	if err != nil {
		return nil, err
	}
	out, err := patch.Apply(a.Document)
	return json.RawMessage(out), err
}

func mergePatch(args json.RawMessage) (any, error) {
	var a patchArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	out, err := jsonpatch.MergePatch(a.Document, a.Patch)
	return json.RawMessage(out), err
}

func strategicPatch(args json.RawMessage) (any, error) {
	var a patchArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	original, patch := map[string]any{}, map[string]any{}
	if err := errors.Join(kjson.Unmarshal(a.Document, &original), kjson.Unmarshal(a.Patch, &patch)); err != nil {
		return nil, err
	}
	object, err := scheme.Scheme.New(schema.GroupVersionKind{Group: a.Group, Version: a.Version, Kind: a.Kind})
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergeMapPatch(original, patch, object)
}
