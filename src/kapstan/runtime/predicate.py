"""Predicates: which changes are worth a reconcile. They combine with `&`, `|` and `~`.

`owns=[Deployment]` sees every change; `when=generation_changed | annotation_changed` lets only those through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kapstan.client.interface import Selector
from kapstan.runtime.change import Change
from kapstan.runtime.lister import label_selector

__all__ = (
    "Predicate",
    "PredicateFunction",
    "annotation_changed",
    "functions",
    "generation_changed",
    "label_changed",
    "labels_match",
    "predicate",
    "resource_version_changed",
)

PredicateFunction: TypeAlias = Callable[[Change], bool]


class Predicate:
    """A question about a change."""

    __slots__ = ("_ask", "name")

    def __init__(self, ask: PredicateFunction, name: str = "") -> None:
        self._ask = ask
        self.name = name or getattr(ask, "__name__", "predicate")

    def __call__(self, change: Change) -> bool:
        return self._ask(change)

    def __and__(self, other: PredicateFunction) -> Predicate:
        return Predicate(lambda change: self(change) and other(change), f"({self.name} & {_name(other)})")

    def __or__(self, other: PredicateFunction) -> Predicate:
        return Predicate(lambda change: self(change) or other(change), f"({self.name} | {_name(other)})")

    def __invert__(self) -> Predicate:
        return Predicate(lambda change: not self(change), f"~{self.name}")

    def __repr__(self) -> str:
        return self.name


def predicate(ask: PredicateFunction) -> Predicate:
    """Make a predicate of a function of a Change; decorate with it."""
    return Predicate(ask)


@predicate
def generation_changed(change: Change) -> bool:
    """The spec changed. Objects that come and go always pass; the status alone never does."""
    old, new = change.old, change.new
    return old is None or new is None or old.generation != new.generation


@predicate
def resource_version_changed(change: Change) -> bool:
    """Anything changed: only resyncs are held back."""
    old, new = change.old, change.new
    return old is None or new is None or old.resource_version != new.resource_version


@predicate
def label_changed(change: Change) -> bool:
    """The labels changed."""
    old, new = change.old, change.new
    return old is None or new is None or old.labels != new.labels


@predicate
def annotation_changed(change: Change) -> bool:
    """The annotations changed."""
    old, new = change.old, change.new
    return old is None or new is None or old.annotations() != new.annotations()


def labels_match(selector: Selector) -> Predicate:
    """The object's labels match, after the change or, if it is gone, when it was last seen."""
    parsed = label_selector(selector)
    return Predicate(lambda change: parsed.matches(change.snapshot.labels), f"labels_match({selector})")


def functions(
    *,
    create: Callable[[Any], bool] | None = None,
    update: Callable[[Any, Any], bool] | None = None,
    delete: Callable[[Any], bool] | None = None,
) -> Predicate:
    """Ask functions of the objects themselves; where none is given, the change passes."""

    def ask(change: Change) -> bool:
        if change.old is None:
            return create is None or create(change.object)
        if change.new is None:
            return delete is None or delete(change.object)
        return update is None or update(change.old.decode(change.kind), change.object)

    return Predicate(ask, "functions")


def _name(ask: PredicateFunction) -> str:
    return ask.name if isinstance(ask, Predicate) else getattr(ask, "__name__", "predicate")
