"""Defaults of a schema must be valid by that schema, and have no fields that it would prune."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from kapstan.apiserver.schema.cel.rules import Budget, compile_rules
from kapstan.apiserver.schema.coerce import InvalidMetadata, coerce_embedded, decode_object_meta
from kapstan.apiserver.schema.explain import explain
from kapstan.apiserver.schema.keywords import deep_equal
from kapstan.apiserver.schema.objectmeta import validate_embedded
from kapstan.apiserver.schema.prune import META_FIELDS, prune
from kapstan.machinery.schema import Schema, compile_schema
from kapstan.machinery.validation import FieldError, Path, aggregate

__all__ = ("default_errors", "has_unpruned_defaults")

Document = Mapping[str, Any]
# Puts a value where it would be in a resource that has nothing else.
Surround: TypeAlias = Callable[[Any], dict[str, Any]]


class _Place(NamedTuple):
    """Where a schema node is in the resource around it."""

    root: Schema
    inside_metadata: bool
    surround: Surround
    budget: Budget  # for rules, shared by all places

    def below(self, wrap: Callable[[Any], Any], *, inside_metadata: bool) -> _Place:
        surround = self.surround
        return self._replace(inside_metadata=inside_metadata, surround=lambda value: surround(wrap(value)))


def default_errors(schema: Document, path: Path, *, require_pruned: bool = True) -> list[FieldError]:
    """What is wrong with the defaults anywhere in the schema of a custom kind."""
    root = compile_schema({**schema, "x-kubernetes-embedded-resource": True})
    return list(_walk(root, path, _Place(root, False, _resource, Budget()), require_pruned))


def _resource(value: Any) -> dict[str, Any]:
    return {"apiVersion": "validation/v1", "kind": "Validation", **value}


def _walk(schema: Schema, path: Path, place: _Place, require_pruned: bool) -> Iterator[FieldError]:
    if schema.embedded_resource:
        place = _Place(schema, False, _resource, place.budget)
    if schema.default is not None:
        at = path.child("default")
        if place.inside_metadata:
            yield from _metadata_default_errors(schema, at, place)
        else:
            yield from _plain_default_errors(schema, at, place, require_pruned=require_pruned)
    if schema.items is not None:
        below = place.below(lambda value: [value], inside_metadata=place.inside_metadata)
        yield from _walk(schema.items, path.child("items"), below, require_pruned)
    for name, child in schema.properties.items():
        inside = place.inside_metadata or (schema.embedded_resource and name in META_FIELDS)
        below = place.below(_wrapper(name), inside_metadata=inside)
        yield from _walk(child, path.child("properties").key(name), below, require_pruned)


def _wrapper(name: str) -> Callable[[Any], Any]:
    return lambda value: {name: value}


def _plain_default_errors(schema: Schema, path: Path, place: _Place, *, require_pruned: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    value = copy.deepcopy(schema.default)
    if require_pruned and not _is_pruned(schema):
        errors.append(FieldError.invalid(path, schema.default, "must not have unknown fields"))
    coercion, _ = coerce_embedded(value, schema, path)
    if coercion is not None:
        return [*errors, coercion]
    return errors + (validate_embedded(value, schema, path) or _value_errors(value, schema, path, place))


def _metadata_default_errors(schema: Schema, path: Path, place: _Place) -> list[FieldError]:
    obj = place.surround(copy.deepcopy(schema.default))
    try:
        decode_object_meta(obj.get("metadata"))
    except InvalidMetadata as error:
        problem = str(FieldError.invalid("metadata", obj["metadata"], str(error)))
    else:
        problems = validate_embedded(obj, place.root, root=True)
        problem = aggregate(problems) if problems else ""
    if problem:
        return [FieldError.invalid(path, schema.default, f"must result in valid metadata: {problem}")]
    return _value_errors(schema.default, schema, path, place)


def _value_errors(value: Any, schema: Schema, path: Path, place: _Place) -> list[FieldError]:
    errors = explain(value, _without_int_or_string(schema), path)
    rules = compile_rules(schema, resource_root=schema is place.root) if not errors else None
    if rules is None:
        return errors
    # A default must be good as what was there before, and as a value that is new.
    return rules.validate(value, value, path=path, budget=place.budget) or rules.validate(
        value, path=path, budget=place.budget
    )


def _without_int_or_string(schema: Schema) -> Schema:
    """The same schema as apiextensions sees it here: int-or-string says nothing about defaults."""
    loose = compile_schema(schema.source)
    todo = [loose]
    while todo:
        node = todo.pop()
        node.int_or_string = False
        children = (*node.properties.values(), node.items, node.additional, *node.all_of, *node.any_of, *node.one_of)
        todo += (child for child in (*children, node.not_) if isinstance(child, Schema))
    return loose


def _is_pruned(schema: Schema) -> bool:
    value = copy.deepcopy(schema.default)
    dropped = prune(value, schema, resource_root=schema.embedded_resource)
    return not dropped and deep_equal(_without_nulls(value), _without_nulls(schema.default))


def _without_nulls(value: Any) -> Any:
    """Nulls are no unknown fields."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def has_unpruned_defaults(schema: Document) -> bool:
    """Whether any default has fields that the schema does not know; old definitions may keep them."""
    nodes = [compile_schema(schema)]
    while nodes:
        node = nodes.pop()
        if node.default is not None and not _is_pruned(node):
            return True
        children = (*node.properties.values(), node.items, node.additional)
        nodes += (child for child in children if isinstance(child, Schema))
    return False
