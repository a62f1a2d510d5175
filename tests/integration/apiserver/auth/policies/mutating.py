"""Mutating policies: applied configurations and JSON patches, what does not suit the object, reinvocation."""

from __future__ import annotations

from tests.integration.apiserver.auth.policies.cases import (
    CORE,
    CREATE,
    DELETE,
    DEPLOY,
    SCALE,
    UPDATE,
    Case,
    Object,
    Write,
    applied,
    conditions,
    mutations,
    patched,
    reference,
    rule,
    variables,
)

# Not ConfigMaps: a real server that has stopped watching a kind for validating policies never watches it again.
SECRET = {"apiVersion": "v1", "kind": "Secret"}
ON_DEPLOYMENTS: Object = {
    "matchConstraints": {"resourceRules": [rule("apps", "deployments", "deployments/scale", operations=["*"])]}
}
COUNT = "Object{metadata: Object.metadata{labels: {'n': string(int(object.metadata.?labels['n'].orValue('0')) + 1)}}}"
ADD_SIDECAR = """
Object{
  spec: Object.spec{
    template: Object.spec.template{
      spec: Object.spec.template.spec{
        containers: [Object.spec.template.spec.containers{name: 'side', image: 'car'}]
      }
    }
  }
}
"""

MUTATING: dict[str, Case] = {
    "applied": Case(applied("Object{metadata: Object.metadata{annotations: {'x': object.data.x}}}")),
    "applied-data": Case(applied("Object{data: {'y': 'z'}}")),
    "applied-nothing": Case(applied("Object{}")),
    "applied-null": Case(applied("Object{data: null}")),
    "applied-null-text": Case(applied("Object{metadata: Object.metadata{generateName: null}}")),
    "applied-null-flag": Case(applied("Object{immutable: null}")),
    "applied-null-number": Case(
        {**applied("Object{spec: Object.spec{replicas: null}}"), **ON_DEPLOYMENTS}, writes=(DEPLOY,)
    ),
    "applied-null-list": Case(applied("Object{metadata: Object.metadata{finalizers: null}}")),
    "applied-null-value": Case(applied("Object{data: {'a': null}}")),
    "applied-time": Case(applied("Object{data: {'a': timestamp('2020-01-01T00:00:00Z')}}")),
    "applied-bytes": Case(applied("Object{data: {'a': b'abc'}}")),
    "applied-double": Case(applied("Object{data: {'a': 1.5}}")),
    "applied-map-of-numbers": Case(applied("Object{data: {1: 'x'}}")),
    "applied-object-of-request": Case(applied("Object{data: object.data}")),
    "applied-made-list": Case(applied("Object{metadata: Object.metadata{finalizers: ['a', 'b'].map(x, x + '.io/x')}}")),
    "applied-optional": Case(applied("Object{metadata: Object.metadata{?annotations: optional.of({'a': 'b'})}}")),
    "applied-unknown-field": Case(applied("Object{nope: 1}")),
    "applied-wrong-type": Case(applied("Object{data: 'text'}")),
    "applied-wrong-value": Case(applied("Object{data: {'x': 1}}")),
    "applied-misplaced": Case(applied("Object{metadata: Object.meta{}}")),
    "applied-failing": Case(applied("Object{data: {'y': object.data.nope}}")),
    "applied-failing-ignored": Case(applied("Object{data: {'y': object.data.nope}}", failurePolicy="Ignore")),
    "applied-list": Case({**applied(ADD_SIDECAR), **ON_DEPLOYMENTS}, writes=(DEPLOY,)),
    "applied-replicas": Case(
        {**applied("Object{spec: Object.spec{replicas: object.spec.replicas + 1}}"), **ON_DEPLOYMENTS},
        writes=(DEPLOY, SCALE),
    ),
    "applied-atomic": Case(
        {
            **applied("Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'c': 'd'}}}}"),
            **ON_DEPLOYMENTS,
        },
        writes=(DEPLOY,),
    ),
    "applied-atomic-list": Case(
        {
            **applied(ADD_SIDECAR.replace("image: 'car'", "args: ['x']")),
            **ON_DEPLOYMENTS,
        },
        writes=(DEPLOY,),
    ),
    "applied-invalid": Case({**applied("Object{spec: Object.spec{replicas: -1}}"), **ON_DEPLOYMENTS}, writes=(DEPLOY,)),
    "patched": Case(patched("[JSONPatch{op: 'add', path: '/data/y', value: 'z'}]")),
    "patched-key": Case(
        patched("[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x.io/y'), value: 'z'}]")
    ),
    "patched-object": Case(
        patched("[JSONPatch{op: 'add', path: '/metadata', value: Object.metadata{name: 'c', annotations: {'a': 'b'}}}]")
    ),
    "patched-several": Case(
        patched(
            "[JSONPatch{op: 'test', path: '/data/x', value: '1'}, JSONPatch{op: 'remove', path: '/data/x'},"
            " JSONPatch{op: 'move', from: '/metadata/labels/a', path: '/metadata/labels/b'},"
            " JSONPatch{op: 'copy', from: '/metadata/labels/b', path: '/metadata/labels/c'}]"
        )
    ),
    "patched-tested": Case(
        patched(
            "[JSONPatch{op: 'add', path: '/data/y', value: 'z'}, JSONPatch{op: 'test', path: '/data/x', value: '2'}]"
        )
    ),
    "patched-unfitting": Case(patched("[JSONPatch{op: 'remove', path: '/nope/x'}]")),
    "patched-operation": Case(patched("[JSONPatch{op: 'nope', path: '/x'}]")),
    "patched-unknown-field": Case(patched("[JSONPatch{op: 'add', path: '/nope', value: 1}]")),
    "patched-wrong-type": Case(patched("[JSONPatch{op: 'add', path: '/data', value: 1}]")),
    "patched-number": Case(patched("[JSONPatch{op: 'add', path: '/immutable', value: true}]")),
    "patched-null": Case(patched("[JSONPatch{op: 'add', path: '/data', value: null}]")),
    "patched-time": Case(patched("[JSONPatch{op: 'add', path: '/data/t', value: timestamp('2020-01-01T00:00:00Z')}]")),
    "patched-bytes": Case(patched("[JSONPatch{op: 'add', path: '/data/t', value: b'abc'}]")),
    "patched-duration": Case(patched("[JSONPatch{op: 'add', path: '/data/t', value: duration('90s')}]")),
    "patched-misplaced": Case(
        patched("[JSONPatch{op: 'add', path: '/metadata', value: Object.metadata{labels: Object.nope{}}}]")
    ),
    "patched-failing": Case(patched("[JSONPatch{op: 'add', path: '/data/y', value: object.nope}]")),
    "patched-conditionally": Case(
        patched("has(object.data.nope) ? [JSONPatch{op: 'remove', path: '/data/nope'}] : []")
    ),
    "patched-scale": Case(
        {
            **patched("[JSONPatch{op: 'replace', path: '/spec/replicas', value: 7}]"),
            "matchConstraints": {"resourceRules": [rule("apps", "deployments/scale", operations=["*"])]},
        },
        writes=(DEPLOY, SCALE),
    ),
    "both": Case(
        mutations(
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{data: {'y': '2'}}"}},
            {
                "patchType": "JSONPatch",
                "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/data/z', value: object.data.y + '3'}]"},
            },
        )
    ),
    "first-fails": Case(
        mutations(
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{nope: 1}"}},
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{data: {'y': '2'}}"}},
            failurePolicy="Ignore",
        )
    ),
    "both-fail": Case(
        mutations(
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{nope: 1}"}},
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{other: 1}"}},
        )
    ),
    "counted": Case(applied(COUNT)),
    "counted-again": Case(applied(COUNT, reinvocationPolicy="IfNeeded")),
    "variables": Case({**applied("Object{data: {'y': variables.y}}"), **variables(y="object.data.x + '!'")}),
    "condition-false": Case({**applied("Object{data: {'y': 'z'}}"), **conditions("false")}),
    "condition-failing": Case({**applied("Object{data: {'y': 'z'}}"), **conditions("object.nope == 1")}),
    "params": Case(
        {**applied("Object{data: {'y': params.data.x}}"), "paramKind": SECRET},
        reference(name="limit"),
        before=(Write("POST", f"{CORE}/{{ns}}/secrets", {"metadata": {"name": "limit"}, "data": {"x": "Mg=="}}),),
    ),
    "params-missing": Case(
        {**applied("Object{data: {'y': params.data.x}}"), "paramKind": SECRET}, reference(name="no")
    ),
    "params-unknown": Case(
        {**applied("Object{}"), "paramKind": {"apiVersion": "example.com/v1", "kind": "Nope"}}, reference(name="x")
    ),
    "namespace": Case(applied("Object{data: {'y': namespaceObject.metadata.name}}")),
    "authorizer": Case(
        applied("Object{data: {'y': string(authorizer.group('').resource('pods').check('get').allowed())}}")
    ),
    "updates": Case(
        {
            **applied("Object{data: {'y': request.operation}}"),
            "matchConstraints": {"resourceRules": [rule(operations=["UPDATE"])]},
        },
        writes=(CREATE, UPDATE, DELETE),
    ),
}
