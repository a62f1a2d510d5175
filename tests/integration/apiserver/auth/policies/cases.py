"""What cases of policies are made of: the policy, its binding, and the writes whose answers are compared."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

Object = dict[str, Any]
CORE, APPS = "/api/v1/namespaces", "/apis/apps/v1/namespaces"
MERGE = "application/merge-patch+json"


class Write(NamedTuple):
    """A request; `{ns}` stands for the case's namespace."""

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"


CONFIG_MAP: Object = {"metadata": {"name": "c", "labels": {"a": "b"}}, "data": {"x": "1"}}
CREATE = Write("POST", f"{CORE}/{{ns}}/configmaps", CONFIG_MAP)


def rule(group: str = "", *resources: str, **fields: Any) -> Object:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": resources or ("configmaps",),
        **fields,
    }


class Case(NamedTuple):
    """A policy's spec, what its binding has beside the default, and the writes to compare."""

    spec: Object
    binding: Mapping[str, Any] = MappingProxyType({})
    writes: tuple[Write, ...] = (CREATE,)
    before: tuple[Write, ...] = ()


def check(expression: str, **fields: Any) -> Object:
    return {"validations": [{"expression": expression, **fields}]}


def checks(*expressions: str, **fields: Any) -> Object:
    return {"validations": [{"expression": expression} for expression in expressions], **fields}


LIMIT = {"apiVersion": "v1", "kind": "ConfigMap"}


def limits(*names: str) -> tuple[Write, ...]:
    return tuple(
        Write(
            "POST",
            f"{CORE}/{{ns}}/configmaps",
            {"metadata": {"name": name, "labels": {"is": "limit"}}, "data": {"x": "2"}},
        )
        for name in names
    )


def reference(**fields: Any) -> Object:
    return {"paramRef": {"parameterNotFoundAction": "Deny", **fields}}


def matching(**fields: Any) -> Object:
    return {"matchConstraints": {"resourceRules": [rule()], **fields}}


def conditions(*expressions: str) -> Object:
    return {"matchConditions": [{"name": f"c{at}", "expression": one} for at, one in enumerate(expressions)]}


def variables(**expressions: str) -> Object:
    return {"variables": [{"name": name, "expression": expression} for name, expression in expressions.items()]}


def applied(expression: str, **fields: Any) -> Object:
    return mutations({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}, **fields)


def patched(expression: str, **fields: Any) -> Object:
    return mutations({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}, **fields)


def mutations(*found: Object, **fields: Any) -> Object:
    return {"mutations": found, "reinvocationPolicy": "Never", **fields}


FALSE = check("object.data.x == '2'")
DEPLOYMENT: Object = {
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}
DEPLOY = Write("POST", f"{APPS}/{{ns}}/deployments", DEPLOYMENT)
RENAME = Write("POST", f"{CORE}/{{ns}}/configmaps", {**CONFIG_MAP, "metadata": {"generateName": "gen-"}})
UPDATE = Write("PATCH", f"{CORE}/{{ns}}/configmaps/c", {"data": {"x": "3"}}, MERGE)
DELETE = Write("DELETE", f"{CORE}/{{ns}}/configmaps/c")
SCALE = Write("PATCH", f"{APPS}/{{ns}}/deployments/d/scale", {"spec": {"replicas": 5}}, MERGE)
EXPENSIVE = "lists.range(2000).all(x, lists.range(2000).all(y, x + y >= 0))"
