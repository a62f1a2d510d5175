"""Validating policies: matching, parameters, variables, conditions, messages, reasons, actions, failures."""

from __future__ import annotations

from tests.integration.apiserver.auth.policies.cases import (
    CORE,
    CREATE,
    DELETE,
    DEPLOY,
    EXPENSIVE,
    FALSE,
    LIMIT,
    RENAME,
    SCALE,
    UPDATE,
    Case,
    Write,
    check,
    checks,
    conditions,
    limits,
    matching,
    reference,
    rule,
    variables,
)

VALIDATING: dict[str, Case] = {
    "expression": Case(FALSE),
    "passes": Case(check("object.data.x == '1'")),
    "message": Case(check("false", message="  no  ")),
    "message-expression": Case(check("false", messageExpression="'x is ' + object.data.x", message="not this")),
    "message-that-fails": Case(check("false", messageExpression="string(object.nope)", message="this instead")),
    "message-of-lines": Case(check("false", messageExpression="'a\\nb'")),
    "message-of-spaces": Case(check("false", messageExpression="'  '")),
    "reason-forbidden": Case(check("false", reason="Forbidden")),
    "reason-too-large": Case(check("false", reason="RequestEntityTooLarge")),
    "reason-invalid": Case(check("false", reason="Invalid")),
    "generated-name": Case(FALSE, writes=(RENAME,)),
    "failing": Case(check("object.nope == 1")),
    "failing-ignored": Case({**check("object.nope == 1"), "failurePolicy": "Ignore"}),
    "several": Case(checks("true", "object.data.x == '2'", "object.nope == 1", "false")),
    "several-with-failure-first": Case(checks("object.nope == 1", "false")),
    "warn": Case(checks("false", "object.nope == 1"), {"validationActions": ["Warn"]}),
    "warn-and-audit": Case(FALSE, {"validationActions": ["Audit", "Warn"]}),
    "audit": Case(FALSE, {"validationActions": ["Audit"]}),
    "audit-and-deny": Case(FALSE, {"validationActions": ["Audit", "Deny"]}),
    "dyn-condition": Case(check("object.data.x == '1' && dyn(true)")),
    "expensive": Case(check(EXPENSIVE)),
    "variables": Case({**checks("variables.n > 1"), **variables(x="object.data.x", n="int(variables.x)")}),
    "variables-unused": Case({**checks("true"), **variables(x="object.nope")}),
    "variables-failing": Case({**checks("variables.y == 1"), **variables(x="object.nope", y="variables.x")}),
    "variables-in-messages": Case({**check("false", messageExpression="variables.x"), **variables(x="'y'")}),
    "variables-in-conditions": Case({**FALSE, **variables(x="true")}),
    "condition-true": Case({**FALSE, **conditions("object.data.x == '1'")}),
    "condition-false": Case({**FALSE, **conditions("true", "object.data.x == '2'")}),
    "condition-failing": Case({**FALSE, **conditions("object.nope == 1", "object.other == 1", "true")}),
    "condition-failing-ignored": Case({**FALSE, **conditions("object.nope == 1"), "failurePolicy": "Ignore"}),
    "condition-failing-and-false": Case({**FALSE, **conditions("object.nope == 1", "false")}),
    "condition-namespace": Case({**FALSE, **conditions("namespaceObject == null")}),
    "namespace": Case(check("namespaceObject.metadata.labels['kubernetes.io/metadata.name'].startsWith('x')")),
    "namespace-phase": Case(
        check("namespaceObject.status.phase == 'Nope'", messageExpression="namespaceObject.status.phase")
    ),
    "namespace-time": Case(check("namespaceObject.metadata.creationTimestamp < timestamp('2020-01-01T00:00:00Z')")),
    "namespace-uid": Case(check("namespaceObject.metadata.UID == ''")),
    "authorizer": Case(check("!authorizer.group('').resource('pods').check('create').allowed()")),
    "authorizer-request": Case(check("!authorizer.requestResource.check('create').allowed()")),
    "authorizer-in-variable": Case(
        {**checks("!variables.may"), **variables(may="authorizer.group('').resource('pods').check('get').allowed()")}
    ),
    "request": Case(
        check(
            "false",
            messageExpression="request.kind.kind + request.resource.resource + request.name + request.operation"
            " + request.userInfo.username + request.options.kind + string(request.dryRun)",
        )
    ),
    "request-name-of-generated": Case(check("request.name == ''"), writes=(RENAME,)),
    "annotations": Case({"auditAnnotations": [{"key": "k", "valueExpression": "'v' + object.data.x"}]}),
    "annotations-failing": Case({"auditAnnotations": [{"key": "k", "valueExpression": "'v' + object.nope"}]}),
    "annotations-failing-ignored": Case(
        {"auditAnnotations": [{"key": "k", "valueExpression": "'v' + object.nope"}], "failurePolicy": "Ignore"}
    ),
    "annotations-failing-warned": Case(
        {"auditAnnotations": [{"key": "k", "valueExpression": "'v' + object.nope"}]}, {"validationActions": ["Warn"]}
    ),
    "excluded": Case({**FALSE, **matching(excludeResourceRules=[rule()])}),
    "excluded-by-name": Case(
        {**FALSE, **matching(excludeResourceRules=[rule(resourceNames=["c"])])}, writes=(CREATE, RENAME)
    ),
    "excluded-by-operation": Case({**FALSE, **matching(excludeResourceRules=[rule(operations=["DELETE"])])}),
    "named": Case(
        {**FALSE, **matching(resourceRules=[rule(resourceNames=["other"]), rule(resourceNames=["c"])])},
        writes=(RENAME, CREATE),
    ),
    "named-otherwise": Case({**FALSE, **matching(resourceRules=[rule(resourceNames=["other"])])}),
    "selected": Case({**FALSE, **matching(objectSelector={"matchLabels": {"a": "b"}})}),
    "not-selected": Case({**FALSE, **matching(objectSelector={"matchLabels": {"a": "c"}})}),
    "cluster-scope": Case({**FALSE, **matching(resourceRules=[rule(scope="Cluster")])}),
    "other-versions": Case({**FALSE, **matching(resourceRules=[rule(apiVersions=["v1beta1"])])}),
    "bound-to-others": Case(FALSE, {"matchResources": {"objectSelector": {"matchLabels": {"a": "c"}}}}),
    "bound-by-rules": Case(FALSE, {"matchResources": {"resourceRules": [rule("", "secrets")]}}),
    "bound-by-name": Case(FALSE, {"matchResources": {"resourceRules": [rule(resourceNames=["c"])]}}),
    "update": Case(
        {**check("oldObject.data.x == object.data.x"), **matching(resourceRules=[rule(operations=["UPDATE"])])},
        writes=(CREATE, UPDATE, DELETE),
    ),
    "delete": Case(
        {**check("object != null"), **matching(resourceRules=[rule(operations=["DELETE"])])},
        writes=(CREATE, UPDATE, DELETE, Write("DELETE", f"{CORE}/{{ns}}/configmaps?fieldSelector=metadata.name%3Dc")),
    ),
    "delete-fields": Case(
        {**check("object.data.x == '1'"), **matching(resourceRules=[rule(operations=["DELETE"])])},
        writes=(CREATE, DELETE),
    ),
    "scale": Case(
        {
            **check("false", messageExpression="object.kind + string(object.spec.replicas) + request.subResource"),
            **matching(resourceRules=[rule("apps", "deployments/scale", operations=["*"])]),
        },
        writes=(DEPLOY, SCALE),
    ),
    "status-not-matched": Case(
        {**check("false"), **matching(resourceRules=[rule("apps", "deployments", operations=["UPDATE"])])},
        writes=(DEPLOY, SCALE),
    ),
    "equivalent": Case(
        {
            **check("false", messageExpression="object.apiVersion + request.requestKind.version"),
            **matching(
                resourceRules=[rule("autoscaling", "horizontalpodautoscalers", apiVersions=["v1"])],
            ),
        },
        writes=(
            Write(
                "POST",
                "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers",
                {
                    "metadata": {"name": "h"},
                    "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}},
                },
            ),
        ),
    ),
    "exact": Case(
        {
            **check("false"),
            **matching(
                resourceRules=[rule("autoscaling", "horizontalpodautoscalers", apiVersions=["v1"])],
                matchPolicy="Exact",
            ),
        },
        writes=(
            Write(
                "POST",
                "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers",
                {
                    "metadata": {"name": "h"},
                    "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}},
                },
            ),
        ),
    ),
    "params": Case(
        {
            **check("params.data.x == object.data.x", messageExpression="string(params.kind) + params.metadata.name"),
            "paramKind": LIMIT,
        },
        reference(name="limit"),
        before=limits("limit"),
    ),
    "params-elsewhere": Case(
        {**check("params.metadata.namespace == 'nope'"), "paramKind": LIMIT},
        reference(name="elsewhere", namespace="default"),
        before=(Write("POST", f"{CORE}/default/configmaps", {"metadata": {"name": "elsewhere"}}),),
    ),
    "params-missing": Case({**check("true"), "paramKind": LIMIT}, reference(name="limit")),
    "params-missing-ignored": Case(
        {**check("true"), "paramKind": LIMIT, "failurePolicy": "Ignore"}, reference(name="limit")
    ),
    "params-missing-allowed": Case(
        {**check("false"), "paramKind": LIMIT}, reference(name="limit", parameterNotFoundAction="Allow")
    ),
    "params-selected": Case(
        {**check("params.data.x == object.data.x"), "paramKind": LIMIT},
        reference(selector={"matchLabels": {"is": "limit"}}),
        before=limits("limit"),
    ),
    "params-selected-none": Case(
        {**check("true"), "paramKind": LIMIT}, reference(selector={"matchLabels": {"is": "nothing"}})
    ),
    "params-not-referred-to": Case({**check("params == null"), "paramKind": LIMIT}),
    "params-not-referred-to-but-used": Case({**check("params.data.x == '1'"), "paramKind": LIMIT}),
    "params-without-kind": Case(check("object.data.x == '2'"), reference(name="limit")),
    "params-in-conditions": Case(
        {**FALSE, **conditions("params.data.x == '1'"), "paramKind": LIMIT},
        reference(name="limit"),
        before=limits("limit"),
    ),
    "params-of-cluster": Case(
        {
            **check("params.metadata.name == 'nope'", messageExpression="string(params.apiVersion)"),
            "paramKind": {"apiVersion": "v1", "kind": "Namespace"},
        },
        reference(name="default"),
    ),
    "params-of-cluster-in-namespace": Case(
        {**check("true"), "paramKind": {"apiVersion": "v1", "kind": "Namespace"}},
        reference(name="default", namespace="default"),
    ),
    "params-unknown": Case(
        {**check("true"), "paramKind": {"apiVersion": "example.com/v1", "kind": "Nope"}}, reference(name="x")
    ),
    "params-unknown-core": Case(
        {**check("true"), "paramKind": {"apiVersion": "v1", "kind": "Nope"}}, reference(name="x")
    ),
    "params-unknown-ignored": Case(
        {**check("true"), "paramKind": {"apiVersion": "v1", "kind": "Nope"}, "failurePolicy": "Ignore"},
        reference(name="x"),
    ),
}
