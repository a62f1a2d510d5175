"""Policies that are accepted, with their defaults, or refused: compile errors, required fields."""

from __future__ import annotations

from tests.integration.apiserver.auth.policies.cases import (
    LIMIT,
    Object,
    applied,
    check,
    checks,
    conditions,
    mutations,
    patched,
    rule,
    variables,
)

TRUE = {"validations": [{"expression": "true"}]}
CONSTRAINTS = {"resourceRules": [rule()]}
POLICIES: dict[str, Object] = {
    "nothing": {},
    "least": {**TRUE, "matchConstraints": CONSTRAINTS},
    "no-constraints": TRUE,
    "no-rules": {**TRUE, "matchConstraints": {}},
    "syntax": {**check("object.x ="), "matchConstraints": CONSTRAINTS},
    "syntax-of-several": {**checks("1 +", "foo", "object.x"), "matchConstraints": CONSTRAINTS},
    "types": {
        **checks("1", "'x'", "object", "[1]", "timestamp('2020-01-01T00:00:00Z')", "duration('1s')", "null"),
        "matchConstraints": CONSTRAINTS,
    },
    "empty-expression": {**check("  "), "matchConstraints": CONSTRAINTS},
    "message-type": {**check("true", messageExpression="1"), "matchConstraints": CONSTRAINTS},
    "message-authorizer": {
        **check("true", messageExpression="authorizer.group('').resource('pods').check('get').reason()"),
        "matchConstraints": CONSTRAINTS,
    },
    "message-empty": {**check("true", messageExpression=" ", message=" "), "matchConstraints": CONSTRAINTS},
    "message-lines": {**check("true", message="a\nb"), "matchConstraints": CONSTRAINTS},
    "reason": {**check("true", reason="Nope"), "matchConstraints": CONSTRAINTS},
    "failure-policy": {**TRUE, "matchConstraints": CONSTRAINTS, "failurePolicy": "Nope"},
    "no-params": {**check("params.x == 1"), "matchConstraints": CONSTRAINTS},
    "params": {**check("params.x == 1"), "matchConstraints": CONSTRAINTS, "paramKind": LIMIT},
    "no-variables": {**check("variables.x"), "matchConstraints": CONSTRAINTS},
    "undefined-variable": {**check("variables.x == 1"), **variables(y="1"), "matchConstraints": CONSTRAINTS},
    "later-variable": {**TRUE, **variables(x="variables.y", y="1"), "matchConstraints": CONSTRAINTS},
    "variable-type": {**check("variables.x"), **variables(x="1"), "matchConstraints": CONSTRAINTS},
    "broken-variable": {**check("variables.x == 1"), **variables(x="1 +"), "matchConstraints": CONSTRAINTS},
    "variable-names": {**TRUE, **variables(**{"a-b": "1", "in": "1", "": "1"}), "matchConstraints": CONSTRAINTS},
    "condition-type": {**TRUE, **conditions("1", "object.x", "variables.x"), "matchConstraints": CONSTRAINTS},
    "condition-params": {**TRUE, **conditions("params.x == 1"), "matchConstraints": CONSTRAINTS},
    "condition-with-params": {
        **TRUE,
        **conditions("params.x == 1"),
        "matchConstraints": CONSTRAINTS,
        "paramKind": LIMIT,
    },
    "annotation-type": {
        "auditAnnotations": [{"key": "k", "valueExpression": "1"}, {"key": "k", "valueExpression": "null"}],
        "matchConstraints": CONSTRAINTS,
    },
    "annotation-empty": {"auditAnnotations": [{"key": "a/b", "valueExpression": " "}], "matchConstraints": CONSTRAINTS},
    "namespace-field": {**check("namespaceObject.kind == 'x'"), "matchConstraints": CONSTRAINTS},
    "namespace-type": {**check("namespaceObject.metadata.name == 1"), "matchConstraints": CONSTRAINTS},
    "request-field": {**check("request.object == 1"), "matchConstraints": CONSTRAINTS},
    "object-made": {**check("Object{} == Object{}"), "matchConstraints": CONSTRAINTS},
}
MUTATIONS: dict[str, Object] = {
    "nothing": {},
    "least": {**applied("Object{}"), "matchConstraints": CONSTRAINTS},
    "delete": {**applied("Object{}"), "matchConstraints": {"resourceRules": [rule(operations=["DELETE", "CREATE"])]}},
    "no-reinvocation": {**applied("Object{}"), "matchConstraints": CONSTRAINTS, "reinvocationPolicy": ""},
    "reinvocation": {**applied("Object{}", reinvocationPolicy="Nope"), "matchConstraints": CONSTRAINTS},
    "apply-type": {**applied("object"), "matchConstraints": CONSTRAINTS},
    "apply-part": {**applied("Object.spec{}"), "matchConstraints": CONSTRAINTS},
    "apply-map": {**applied("{'a': 'b'}"), "matchConstraints": CONSTRAINTS},
    "apply-unknown": {**applied("Thing{a: 1}"), "matchConstraints": CONSTRAINTS},
    "apply-syntax": {**applied("Object{a: }"), "matchConstraints": CONSTRAINTS},
    "apply-mixed": {**applied("Object{a: [1, 'x']}"), "matchConstraints": CONSTRAINTS},
    "apply-optional": {**applied("Object{?a: 1}"), "matchConstraints": CONSTRAINTS},
    "apply-empty": {**applied(" "), "matchConstraints": CONSTRAINTS},
    "patch-type": {**patched("Object{}"), "matchConstraints": CONSTRAINTS},
    "patch-alone": {**patched("JSONPatch{op: 'add'}"), "matchConstraints": CONSTRAINTS},
    "patch-none": {**patched("[]"), "matchConstraints": CONSTRAINTS},
    "patch-field-type": {**patched("[JSONPatch{op: 1, path: 'x'}]"), "matchConstraints": CONSTRAINTS},
    "patch-empty": {**patched(""), "matchConstraints": CONSTRAINTS},
    "undefined-variable": {**applied("Object{a: variables.x}"), "matchConstraints": CONSTRAINTS},
    "variable-made": {**applied("Object{a: 1}"), **variables(x="Object{}"), "matchConstraints": CONSTRAINTS},
    "patch-type-unknown": {**mutations({"patchType": "Nope"}), "matchConstraints": CONSTRAINTS},
    "patch-type-none": {**mutations({"jsonPatch": {"expression": "[]"}}), "matchConstraints": CONSTRAINTS},
    "patch-missing": {
        **mutations({"patchType": "JSONPatch"}, {"patchType": "ApplyConfiguration", "jsonPatch": {"expression": "x"}}),
        "matchConstraints": CONSTRAINTS,
    },
}
