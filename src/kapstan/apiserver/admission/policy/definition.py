"""Policies and bindings as the server uses them: parsed and compiled once, each policy with what binds it.

A policy without a binding does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct

from kapstan.apiserver.admission.webhook.configuration import MatchCondition, Rule
from kapstan.apiserver.storage.interface import Event, Record, Storage
from kapstan.machinery import codec, labels
from kapstan.machinery.gvk import GroupResource, GroupVersionKind

__all__ = ("Binding", "BoundPolicies", "BoundPolicy", "Criteria", "ParamKind", "ParamRef", "PolicySpec", "Variable")

E = TypeVar("E")


class _MatchResources(Struct, frozen=True, rename="camel"):
    resource_rules: tuple[Rule, ...] = ()
    exclude_resource_rules: tuple[Rule, ...] = ()
    match_policy: Literal["Exact", "Equivalent"] = "Equivalent"
    namespace_selector: dict[str, Any] | None = None
    object_selector: dict[str, Any] | None = None


class ParamKind(Struct, frozen=True, rename="camel"):
    """What kind of object has the parameters of a policy."""

    api_version: str
    kind: str

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind.of(self.api_version, self.kind)


class ParamRef(Struct, frozen=True, rename="camel"):
    """Which objects of that kind have them."""

    name: str = ""
    namespace: str = ""
    selector: dict[str, Any] | None = None
    parameter_not_found_action: Literal["Allow", "Deny"] | None = None


class Variable(Struct, frozen=True):
    """A value that expressions of a policy share."""

    name: str
    expression: str


class PolicySpec(Struct, frozen=True, rename="camel"):
    """What validating and mutating policies have in common."""

    param_kind: ParamKind | None = None
    match_constraints: _MatchResources = _MatchResources()
    match_conditions: tuple[MatchCondition, ...] = ()
    variables: tuple[Variable, ...] = ()
    failure_policy: Literal["Fail", "Ignore"] = "Fail"


class _BindingSpec(Struct, frozen=True, rename="camel"):
    policy_name: str = ""
    param_ref: ParamRef | None = None
    match_resources: _MatchResources | None = None
    validation_actions: tuple[str, ...] = ()


class _BindingDocument(Struct, frozen=True):
    spec: _BindingSpec


class Criteria:
    """Which writes are meant."""

    def __init__(self, match: _MatchResources) -> None:
        self.rules = match.resource_rules
        self.excluded = match.exclude_resource_rules
        self.equivalent = match.match_policy == "Equivalent"
        self._match = match

    @cached_property
    def namespace_selector(self) -> labels.Selector:
        return labels.from_label_selector(self._match.namespace_selector or {})

    @cached_property
    def object_selector(self) -> labels.Selector:
        return labels.from_label_selector(self._match.object_selector or {})


class Binding:
    """What puts a policy into force."""

    def __init__(self, name: str, spec: _BindingSpec) -> None:
        self.name = name
        self.policy = spec.policy_name
        self.params = spec.param_ref
        self.actions = spec.validation_actions
        self.criteria = Criteria(spec.match_resources) if spec.match_resources is not None else None


class BoundPolicy(Generic[E]):
    """A policy with its bindings. `evaluator` is what its expressions became."""

    def __init__(self, name: str, spec: PolicySpec, evaluator: E, bindings: Sequence[Binding]) -> None:
        self.name = name
        self.param_kind = spec.param_kind
        self.ignores_failure = spec.failure_policy == "Ignore"
        self.criteria = Criteria(spec.match_constraints)
        self.evaluator = evaluator
        self.bindings = bindings


class BoundPolicies(Generic[E]):
    """The policies of one kind that are bound, by name, current with every write to them or to their bindings.

    What is expensive is kept while an object stays as it is.
    """

    def __init__(
        self,
        storage: Storage,
        policies: GroupResource,
        bindings: GroupResource,
        parse: Callable[[bytes], tuple[PolicySpec, E]],
    ) -> None:
        self._storage = storage
        self._kinds = (policies, bindings)
        self._parse = parse
        self._bound: tuple[BoundPolicy[E], ...] | None = None
        self._parsed: dict[str, tuple[int, PolicySpec, E]] = {}
        self._observing = False
        self.generation = 0

    def __call__(self) -> tuple[BoundPolicy[E], ...]:
        if self._bound is None:
            if not self._observing:
                self._observing = True
                for kind in self._kinds:
                    self._storage.observe(self._changed, kind)
            self._bound = self._join()
        return self._bound

    def _changed(self, event: Event) -> None:
        self._bound = None
        self.generation += 1

    def _join(self) -> tuple[BoundPolicy[E], ...]:
        policies, bindings = self._kinds
        bound: dict[str, list[Binding]] = {}
        for record in self._storage.list(bindings):
            binding = Binding(record.name, codec.decode(record.value, _BindingDocument).spec)
            bound.setdefault(binding.policy, []).append(binding)
        found = [record for record in self._storage.list(policies) if record.name in bound] if bound else []
        self._parsed = {record.name: self._policy(record) for record in found}
        return tuple(
            BoundPolicy(name, spec, evaluator, bound[name]) for name, (_, spec, evaluator) in self._parsed.items()
        )

    def _policy(self, record: Record) -> tuple[int, PolicySpec, E]:
        known = self._parsed.get(record.name)
        if known is not None and known[0] == record.revision:
            return known
        return record.revision, *self._parse(record.value)
