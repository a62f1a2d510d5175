package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A set travels as the text of its JSON: the order of its keys is part of the answer.
func encodeSet(set *fieldpath.Set) (string, error) {
	data, err := set.ToJSON()
	return string(data), err
}

func decodeSet(data json.RawMessage) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	return set, set.FromJSON(bytes.NewReader(data))
}

type setArgs struct {
	Left  json.RawMessage `json:"left"`
	Right json.RawMessage `json:"right"`
}

func setNormalize(args json.RawMessage) (any, error) {
	var a setArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	set, err := decodeSet(a.Left)
	if err != nil {
		return nil, err
	}
	return encodeSet(set)
}

func setPaths(args json.RawMessage) (any, error) {
	var a setArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	set, err := decodeSet(a.Left)
	if err != nil {
		return nil, err
	}
	paths := []string{}
	set.Iterate(func(p fieldpath.Path) { paths = append(paths, p.String()) })
	return paths, nil
}

// setCombine answers all operations on two sets at once.
func setCombine(args json.RawMessage) (any, error) {
	var a setArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	left, err := decodeSet(a.Left)
	if err != nil {
		return nil, err
	}
	right, err := decodeSet(a.Right)
	if err != nil {
		return nil, err
	}
	result := map[string]any{}
	for name, set := range map[string]*fieldpath.Set{
		"union":                left.Union(right),
		"intersection":         left.Intersection(right),
		"difference":           left.Difference(right),
		"recursive_difference": left.RecursiveDifference(right),
		"leaves":               left.Leaves(),
	} {
		if result[name], err = encodeSet(set); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return result, nil
}
