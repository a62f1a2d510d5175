package main

import (
	"encoding/json"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types/ref"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// evaluate compiles and runs the expression Text in Kubernetes' environment. Every key of Object is a variable of
// dynamic type, or of the simple type that Types names.
func evaluate(request *Request) (any, error) {
	bindings := map[string]any{}
	if request.Object != nil {
		if err := utiljson.Unmarshal(request.Object, &bindings); err != nil {
			return nil, err
		}
	}
	env, err := newEnvironment(bindings, request.Types)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(request.Text)
	if issues != nil {
		return map[string]any{"issues": issues.String()}, nil
	}
	answer := map[string]any{"type": ast.OutputType().String()}
	estimator := &library.CostEstimator{SizeEstimator: noSizes{}}
	if estimate, err := env.EstimateCost(ast, estimator); err == nil {
		answer["estimate"] = []string{fmt.Sprint(estimate.Min), fmt.Sprint(estimate.Max)}
	}
	program, err := env.Program(ast, cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(estimator))
	if err != nil {
		answer["error"] = err.Error()
		return answer, nil
	}
	value, details, err := program.Eval(bindings)
	if details != nil && details.ActualCost() != nil {
		answer["cost"] = *details.ActualCost()
	}
	if err != nil {
		answer["error"] = err.Error()
		return answer, nil
	}
	answer["value"] = show(value)
	return answer, nil
}

var simpleTypes = map[string]*cel.Type{
	"bool": cel.BoolType, "int": cel.IntType, "double": cel.DoubleType, "string": cel.StringType,
	"list(string)": cel.ListType(cel.StringType), "list(int)": cel.ListType(cel.IntType),
	"map(string, int)": cel.MapType(cel.StringType, cel.IntType), "map(string, string)": cel.MapType(cel.StringType, cel.StringType),
}

func newEnvironment(bindings map[string]any, types map[string]string) (*cel.Env, error) {
	options := []cel.EnvOption{}
	for name := range bindings {
		declared := cel.DynType
		if simple, ok := simpleTypes[types[name]]; ok {
			declared = simple
		}
		options = append(options, cel.Variable(name, declared))
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        options,
	})
	if err != nil {
		return nil, err
	}
	return set.NewExpressionsEnv(), nil
}

// show renders a value so that its type can be told: JSON where there is one, Go's words otherwise.
func show(value ref.Val) string {
	if rendered, err := json.Marshal(value.Value()); err == nil {
		return fmt.Sprintf("%s %s", value.Type().TypeName(), rendered)
	}
	return fmt.Sprintf("%s %v", value.Type().TypeName(), value.Value())
}

type noSizes struct{}

func (noSizes) EstimateSize(checker.AstNode) *checker.SizeEstimate { return nil }

func (noSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
