package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
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

func newEnvironment(bindings map[string]any, declared map[string]string) (*cel.Env, error) {
	options := []cel.EnvOption{}
	for name := range bindings {
		variable := cel.DynType
		if simple, ok := simpleTypes[declared[name]]; ok {
			variable = simple
		}
		options = append(options, cel.Variable(name, variable))
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

// show renders a value so that its type can be told.
func show(value ref.Val) string {
	rendered, err := json.Marshal(native(value))
	if err != nil {
		return fmt.Sprintf("%s %v", value.Type().TypeName(), value.Value())
	}
	return fmt.Sprintf("%s %s", value.Type().TypeName(), rendered)
}

// native is the value as JSON can hold it, lists and maps with all that is in them.
func native(value ref.Val) any {
	switch v := value.(type) {
	case traits.Lister:
		items := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			items = append(items, native(it.Next()))
		}
		return items
	case traits.Mapper:
		entries := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries[fmt.Sprint(key.Value())] = native(v.Get(key))
		}
		return entries
	case *types.Optional:
		if !v.HasValue() {
			return []any{}
		}
		return []any{native(v.GetValue())}
	case types.Null:
		return nil
	case types.Duration:
		return v.Duration.String()
	case types.Double:
		return strconv.FormatFloat(float64(v), 'g', -1, 64)
	}
	return value.Value()
}

type noSizes struct{}

func (noSizes) EstimateSize(checker.AstNode) *checker.SizeEstimate { return nil }

func (noSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
