package main

import (
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

func parseLabelSelector(request *Request) (any, error) {
	selector, err := labels.Parse(request.Text)
	if err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	return map[string]any{"text": selector.String(), "matches": selector.Matches(labels.Set(request.Labels))}, nil
}

func parseFieldSelector(request *Request) (any, error) {
	selector, err := fields.ParseSelector(request.Text)
	if err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	return map[string]any{"text": selector.String(), "matches": selector.Matches(fields.Set(request.Labels))}, nil
}

func checkNames(request *Request) (any, error) {
	return map[string]any{
		"dns1123Label":     list(utilvalidation.IsDNS1123Label(request.Text)),
		"dns1123Subdomain": list(utilvalidation.IsDNS1123Subdomain(request.Text)),
		"dns1035Label":     list(utilvalidation.IsDNS1035Label(request.Text)),
		"qualifiedName":    list(utilvalidation.IsQualifiedName(request.Text)),
		"labelValue":       list(utilvalidation.IsValidLabelValue(request.Text)),
		"configMapKey":     list(utilvalidation.IsConfigMapKey(request.Text)),
	}, nil
}

func quote(request *Request) (any, error) {
	return map[string]any{"quoted": strconv.Quote(request.Text)}, nil
}

// checkFormat says whether Value has the string format named by Text.
func checkFormat(request *Request) (any, error) {
	return map[string]any{"valid": strfmt.Default.Validates(request.Text, request.Value)}, nil
}

// matchRegexp matches Value against the expression Text.
func matchRegexp(request *Request) (any, error) {
	expression, err := regexp.Compile(request.Text)
	if err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	return map[string]any{
		"matches": expression.MatchString(request.Value),
		"found":   list(expression.FindAllString(request.Value, -1)),
	}, nil
}
