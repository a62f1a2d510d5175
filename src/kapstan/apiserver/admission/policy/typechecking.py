"""Type checking: what is wrong with a policy's expressions if the objects are what their schemas say.

A policy is accepted without it, for its expressions may be meant for kinds that are not there yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from kapstan.apiserver.admission.policy.compiler import PolicyCompiler
from kapstan.apiserver.builtin import facts
from kapstan.apiserver.kinds import KindTable, ServedKind
from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.schematypes import schema_type
from kapstan.apiserver.schema.cel.source import CompileError
from kapstan.apiserver.schema.cel.types import Type
from kapstan.machinery.gvk import GroupVersionKind, GroupVersionResource
from kapstan.machinery.schema import Schema, compile_schema
from kapstan.machinery.validation import Path

__all__ = ("expression_warnings",)

Object = dict[str, Any]

_MOST_KINDS = 10
_TEXT = compile_schema({"type": "string"})
_EMPTY = compile_schema({"type": "object"})
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def expression_warnings(policy: Object, kinds: KindTable) -> list[Object]:
    """What `status.typeChecking` of a policy says."""
    spec, path = policy["spec"], Path("spec", "validations")
    checks = [_Check(kind, spec, kinds) for kind in _kinds(spec, kinds)]
    warnings = []
    for position, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            found = [text for check in checks if (text := check.problem(validation.get(field, "")))]
            if found:
                where = str(path.index(position).child(field))
                warnings.append({"fieldRef": where, "warning": "\n".join(found)})
    return warnings


class _Check:
    """The expressions of a policy over the objects of one kind."""

    def __init__(self, kind: ServedKind, spec: Object, kinds: KindTable) -> None:
        self._gvk = kind.gvk
        self._compiler = PolicyCompiler(obj=_type(kind), params=_params(spec, kinds), request_resource=False)
        for variable in spec.get("variables") or ():
            self._compiler.declare(variable["name"], _checked(self._compiler, variable["expression"]).type)

    def problem(self, expression: str) -> str:
        if not expression:
            return ""
        group, version, name = self._gvk
        error = _checked(self._compiler, expression).error
        return f"{group}/{version}, Kind={name}: {error}\n" if error else ""


class _Checked(NamedTuple):
    type: Type
    error: str = ""


def _checked(compiler: PolicyCompiler, expression: str) -> _Checked:
    try:
        return _Checked(compiler.environment.check(expression)[1])
    except CompileError as error:
        return _Checked(types.DYN, str(error))


def _params(spec: Object, kinds: KindTable) -> Type | None:
    wanted = spec.get("paramKind")
    if wanted is None:
        return None
    kind = kinds.kind(GroupVersionKind.of(wanted["apiVersion"], wanted["kind"]))
    return _type(kind) if kind is not None else types.DYN


def _type(kind: ServedKind) -> Type:
    schema = _finite(_complete(kind.schema) if kind.custom else kind.schema, ())
    found = schema_type(schema, kind.gvk.kind, resource_root=True)
    return found.type if found is not None else types.DYN


def _complete(schema: Schema) -> Schema:
    """The schema of a custom kind as it is published: with all of the metadata."""
    metadata = facts.definitions().schema(_OBJECT_META)
    named = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": metadata}
    return _with_parts(schema, {**schema.properties, **named}, schema.items, schema.additional)


def _finite(schema: Schema, above: tuple[str, ...]) -> Schema:
    """The same with empty objects where one would hold another of its own definition: types cannot go on forever."""
    if schema.ref:
        if schema.ref in above:
            return _EMPTY
        above = (*above, schema.ref)
    properties = {name: _finite(part, above) for name, part in schema.properties.items()}
    items = _finite(schema.items, above) if schema.items is not None else None
    additional = schema.additional
    if isinstance(additional, Schema):
        additional = _finite(additional, above)
    changed = items is not schema.items or additional is not schema.additional
    if changed or any(part is not schema.properties[name] for name, part in properties.items()):
        return _with_parts(schema, properties, items, additional)
    return schema


def _with_parts(
    schema: Schema, properties: dict[str, Schema], items: Schema | None, additional: Schema | bool | None
) -> Schema:
    made = Schema(schema.source)
    made.properties, made.items, made.additional = properties, items, additional
    return made


# Kinds ----------------------------------------------------------------------------------------------------------------


def _kinds(spec: Object, kinds: KindTable) -> list[ServedKind]:
    """Those that the policy names, in order; wildcards name none."""
    found: dict[GroupVersionKind, ServedKind] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        named = list(islice(_named(rule, kinds), _MOST_KINDS))
        found |= {kind.gvk: kind for kind in named}
        if len(named) == _MOST_KINDS:
            break
    return [found[gvk] for gvk in sorted(found)]


def _named(rule: Object, kinds: KindTable) -> Iterator[ServedKind]:
    groups, versions = _exact(rule.get("apiGroups") or ()), _exact(rule.get("apiVersions") or ())
    resources = sorted(name for name in rule.get("resources") or () if not set("*/") & set(name))
    for group, version, resource in product(groups, versions, resources):
        kind = kinds.resource(GroupVersionResource(group, version, resource))
        if kind is not None:
            yield kind


def _exact(names: Sequence[str]) -> list[str]:
    return [] if any("*" in name for name in names) else sorted(names)
