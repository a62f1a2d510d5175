"""Rules of a custom kind's schema: do they compile, and are they cheap enough at worst?

Messages, paths and limits are apiextensions'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kapstan.apiserver.schema.cel.rule import CompiledRule, compile_rule
from kapstan.apiserver.schema.cel.schematypes import MAX_REQUEST_SIZE, schema_type
from kapstan.apiserver.schema.cel.sizes import MAX_UINT64
from kapstan.machinery.golang import Rendered, to_json
from kapstan.machinery.schema import Schema, compile_schema
from kapstan.machinery.validation import FieldError, Path

__all__ = ("rule_errors",)

_COST_LIMIT = 10_000_000  # of one expression
_TOTAL_COST_LIMIT = 100_000_000  # of all in a schema
_MOST_EXPENSIVE = 4  # how many are named when the total is too high
_ADVICE = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings "
_ADVICE += "are declared"
_CONTRIBUTED = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_UNKNOWN_TYPE = "internal error: failed to construct type information for x-kubernetes-validations rules: "
_UNKNOWN_TYPE += "unable to convert structural schema to CEL declarations"


def rule_errors(
    schema: Mapping[str, Any], path: Path, faults: list[FieldError], *, ignore_costs: bool = False
) -> list[FieldError]:
    """What is wrong with the rules of a schema, at any depth.

    `faults` are what else is wrong with the schema: rules around a fault are not judged.
    """
    costs = _Costs(ignore_costs)
    root = _Place(compile_schema(schema), path, 1, None)
    broken = [error.field for error in faults]
    errors: list[FieldError] = []
    for place in _places(root):
        if place.schema.validations and not any(field.startswith(str(place.path)) for field in broken):
            errors += _place_errors(place, costs, is_root=place is root)
    return errors + list(costs.total_errors(path))


class _Place(NamedTuple):
    """A schema node, and how often it may occur in an object; None if nothing bounds that."""

    schema: Schema
    path: Path
    cardinality: int | None
    uncorrelatable: Path | None  # the nearest list around it whose items cannot be told from their old selves


def _places(place: _Place) -> Iterator[_Place]:
    """Every node that rules may be on, children first."""
    schema, path, _, uncorrelatable = place
    cardinality = _cardinality(place)
    if isinstance(schema.additional, Schema):
        yield from _places(_Place(schema.additional, path.child("additionalProperties"), cardinality, uncorrelatable))
    for name, child in schema.properties.items():
        yield from _places(_Place(child, path.child("properties").key(name), cardinality, uncorrelatable))
    if schema.items is not None:
        within = uncorrelatable or (path if schema.list_type != "map" else None)
        yield from _places(_Place(schema.items, path.child("items"), cardinality, within))
    yield place


def _cardinality(place: _Place) -> int | None:
    """How often the children of a node may occur."""
    schema = place.schema
    limit: int | None = 1
    if schema.type == "array":
        limit = schema.max_items
    elif schema.type == "object" and schema.additional is not None:
        limit = schema.max_properties
    if place.cardinality is None or limit is None:
        return None
    return min(place.cardinality * max(limit, 0), MAX_UINT64)


def _place_errors(place: _Place, costs: _Costs, *, is_root: bool) -> Iterator[FieldError]:
    schema, path = place.schema, place.path.child("x-kubernetes-validations")
    declared = schema_type(schema, resource_root=is_root or schema.embedded_resource)
    if declared is None:
        yield FieldError.internal(path, _UNKNOWN_TYPE)
        return
    cardinality = place.cardinality
    if cardinality is None:
        cardinality = MAX_REQUEST_SIZE // (declared.min_size + 1)
    for position, rule in enumerate(schema.validations):
        at = path.index(position)
        compiled = compile_rule(rule, schema, declared, estimate=True)
        yield from _expression_errors(compiled, at, cardinality, costs)
        yield from _old_self_errors(compiled, at, place.uncorrelatable)


def _expression_errors(rule: CompiledRule, at: Path, cardinality: int, costs: _Costs) -> Iterator[FieldError]:
    yield from costs.add(at.child("rule"), "estimated rule cost", min(rule.cost * cardinality, MAX_UINT64))
    if rule.error:
        yield FieldError.invalid(at.child("rule"), _rendered(rule.rule), rule.error)
    if rule.message_error:
        yield FieldError.invalid(at.child("messageExpression"), _rendered(rule.rule), rule.message_error)
    elif rule.message is not None:
        yield from costs.add(at.child("messageExpression"), "estimated messageExpression cost", rule.message_cost)


def _old_self_errors(rule: CompiledRule, at: Path, uncorrelatable: Path | None) -> Iterator[FieldError]:
    if not rule.uses_old_self:
        if (optional := rule.rule.get("optionalOldSelf")) is not None:
            detail = "may not be set if oldSelf is not used in rule"
            yield FieldError.invalid(at.child("optionalOldSelf"), optional, detail)
    elif uncorrelatable is not None:
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
        yield FieldError.invalid(at.child("rule"), rule.rule["rule"], detail)


def _rendered(rule: Mapping[str, Any]) -> Rendered:
    """A rule as kube-apiserver shows it, by the names of its own fields."""
    shown = {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    return Rendered("{" + ",".join(f'"{name}":{to_json(value)}' for name, value in shown.items()) + "}")


class _Costs:
    """What the rules of a schema may cost at worst, and which cost most."""

    def __init__(self, ignore_each: bool) -> None:
        self._ignore_each = ignore_each
        self._total = 0
        self._expensive: list[tuple[int, Path]] = []

    def add(self, path: Path, what: str, cost: int) -> Iterator[FieldError]:
        """Count an expression, which may be too expensive by itself."""
        self._total = min(self._total + cost, MAX_UINT64)
        if cost >= _TOTAL_COST_LIMIT // 100:
            self._expensive.append((cost, path))
        if cost > _COST_LIMIT and not self._ignore_each:
            yield FieldError.forbidden(path, _too_expensive(what, cost, _COST_LIMIT))

    def total_errors(self, path: Path) -> Iterator[FieldError]:
        if self._total <= _TOTAL_COST_LIMIT:
            return
        for _, at in sorted(self._expensive, key=lambda entry: -entry[0])[:_MOST_EXPENSIVE]:
            yield FieldError.forbidden(at, _CONTRIBUTED)
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield FieldError.forbidden(path, _too_expensive(what, self._total, _TOTAL_COST_LIMIT))


def _too_expensive(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} ({_ADVICE})"
