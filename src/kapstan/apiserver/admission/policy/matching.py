"""Which policies a write meets, and in which version they see the object.

Rules are asked once per kind and operation; names, exclusions and selectors for every write.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.policy.definition import Binding, BoundPolicies, BoundPolicy, Criteria
from kapstan.apiserver.admission.webhook.invocation import (
    Hit,
    Remembered,
    admission_name,
    hits,
    selects,
)
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery.gvk import GroupResource

__all__ = ("Candidate", "PolicyMatcher")

E = TypeVar("E")

_ADMISSION, _AUTHENTICATION, _AUTHORIZATION = (
    f"{prefix}.k8s.io" for prefix in ("admissionregistration", "authentication", "authorization")
)
# A policy that refused policies could not be removed any more, and the cluster asks itself by way of reviews.
_EXEMPT = frozenset(
    (
        GroupResource(_ADMISSION, "validatingadmissionpolicies"),
        GroupResource(_ADMISSION, "validatingadmissionpolicybindings"),
        GroupResource(_ADMISSION, "mutatingadmissionpolicies"),
        GroupResource(_ADMISSION, "mutatingadmissionpolicybindings"),
        GroupResource(_AUTHENTICATION, "selfsubjectreviews"),
        GroupResource(_AUTHENTICATION, "tokenreviews"),
        GroupResource(_AUTHORIZATION, "localsubjectaccessreviews"),
        GroupResource(_AUTHORIZATION, "selfsubjectaccessreviews"),
        GroupResource(_AUTHORIZATION, "selfsubjectrulesreviews"),
        GroupResource(_AUTHORIZATION, "subjectaccessreviews"),
    )
)


class _Matched(NamedTuple):
    """The rules of a criteria that such a write matches."""

    criteria: Criteria
    hits: tuple[Hit, ...]
    excluded: tuple[Hit, ...]


class Candidate(NamedTuple, Generic[E]):
    """A policy whose rules select such writes, with those of its bindings whose rules do."""

    policy: BoundPolicy[E]
    matched: _Matched
    bindings: tuple[tuple[Binding, _Matched | None], ...]


class PolicyMatcher(Generic[E]):
    """Selects the policies of one kind."""

    def __init__(self, storage: Storage, policies: BoundPolicies[E]) -> None:
        self._storage = storage
        self._policies = policies
        self._candidates = Remembered[Candidate[E]]()

    def candidates(self, attributes: AdmissionAttributes) -> tuple[Candidate[E], ...]:
        """What rules select."""
        policies = self._policies()
        if not policies or attributes.kind.gvr.group_resource in _EXEMPT:
            return ()
        return self._candidates.of(attributes, self._policies.generation, lambda: _candidates(policies, attributes))

    def kind(self, candidate: Candidate[E], attributes: AdmissionAttributes) -> ServedKind | None:
        """The kind in whose version the policy sees the object; None if it has nothing to do with it."""
        return self._match(candidate.matched, attributes)

    def bindings(self, candidate: Candidate[E], attributes: AdmissionAttributes) -> Iterator[Binding]:
        """What puts the policy into force for this write."""
        for binding, matched in candidate.bindings:
            if matched is None or self._match(matched, attributes) is not None:
                yield binding

    def _match(self, matched: _Matched, attributes: AdmissionAttributes) -> ServedKind | None:
        name = admission_name(attributes)
        if _named(matched.excluded, name) is not None:
            return None
        kind = _named(matched.hits, name) if matched.criteria.rules else attributes.kind
        if kind is None or not selects(matched.criteria, attributes, self._storage):
            return None
        return kind


def _candidates(policies: tuple[BoundPolicy[E], ...], attributes: AdmissionAttributes) -> Iterator[Candidate[E]]:
    for policy in policies:
        matched = _matched(policy.criteria, attributes)
        if matched is None:
            continue
        bindings = [
            (binding, _matched(binding.criteria, attributes) if binding.criteria is not None else None)
            for binding in policy.bindings
        ]
        chosen = tuple(one for one in bindings if one[0].criteria is None or one[1] is not None)
        yield Candidate(policy, matched, chosen)


def _matched(criteria: Criteria, attributes: AdmissionAttributes) -> _Matched | None:
    """None if no such write can be meant, whatever its name."""
    found = tuple(hits(criteria.rules, attributes, equivalent=criteria.equivalent))
    if criteria.rules and not found:
        return None
    excluded = tuple(hits(criteria.excluded, attributes, equivalent=criteria.equivalent))
    if any(not hit.rule.resource_names for hit in excluded):
        return None
    return _Matched(criteria, found, excluded)


def _named(found: tuple[Hit, ...], name: str) -> ServedKind | None:
    for rule, kind in found:
        if not rule.resource_names or name in rule.resource_names:
            return kind
    return None
