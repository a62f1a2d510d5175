"""Rules about a whole type: decorators that become `x-kubernetes-validations` of its schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kapstan.machinery.base import Model
from kapstan.machinery.markers import CEL

__all__ = ("at_least_one_of", "at_most_one_of", "cel", "exactly_one_of", "keywords_of", "rules_of", "schema_keywords")

C = TypeVar("C", bound=type[Model])


def cel(
    rule: str,
    *,
    message: str = "",
    message_expression: str = "",
    reason: str = "",
    field_path: str = "",
    optional_old_self: bool | None = None,
) -> Callable[[C], C]:
    """Every object of the type satisfies the rule; `self` is the object. The topmost decorator comes first."""
    return _add(CEL(rule, message, message_expression, reason, field_path, optional_old_self))


def exactly_one_of(*fields: str) -> Callable[[C], C]:
    """Just one of these JSON fields is set."""
    return _add(_count("==", fields, f"exactly one of the fields in [{' '.join(fields)}] must be set"))


def at_most_one_of(*fields: str) -> Callable[[C], C]:
    """None or one of these JSON fields is set."""
    return _add(_count("<=", fields, f"at most one of the fields in [{' '.join(fields)}] may be set"))


def at_least_one_of(*fields: str) -> Callable[[C], C]:
    """One or more of these JSON fields are set."""
    return _add(_count(">=", fields, f"at least one of the fields in [{' '.join(fields)}] must be set"))


def schema_keywords(**keywords: object) -> Callable[[C], C]:
    """OpenAPI keywords of the type's own schema, such as `minProperties=1`."""

    def decorate(cls: C) -> C:
        setattr(cls, "__schema_keywords__", {**keywords, **keywords_of(cls)})  # noqa: B010 - a Struct has no such field
        return cls

    return decorate


def rules_of(cls: type[Model]) -> tuple[CEL, ...]:
    """The rules of this very class; those of a base do not speak of it."""
    found: tuple[CEL, ...] = cls.__dict__.get("__rules__", ())
    return found


def keywords_of(cls: type[Model]) -> dict[str, object]:
    found: dict[str, object] = cls.__dict__.get("__schema_keywords__", {})
    return found


def _add(rule: CEL) -> Callable[[C], C]:
    def decorate(cls: C) -> C:
        setattr(cls, "__rules__", (rule, *rules_of(cls)))  # noqa: B010 - a Struct has no such field
        return cls

    return decorate


def _count(operator: str, fields: tuple[str, ...], message: str) -> CEL:
    terms = ",".join(f"has(self.{name})" for name in fields)
    return CEL(f"[{terms}].filter(x,x==true).size() {operator} 1", message)
