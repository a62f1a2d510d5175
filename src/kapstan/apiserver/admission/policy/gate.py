"""The gate to policies: until a cluster has one, nothing that evaluates policies is made, nor imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.authz.interface import Authorizer
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery.gvk import GroupResource

if TYPE_CHECKING:
    from kapstan.apiserver.admission.policy.mutating import MutatingPolicies, PolicyMutation
    from kapstan.apiserver.admission.policy.validating import ValidatingPolicies

__all__ = ("MutatingGate", "ValidatingGate")

_GROUP = "admissionregistration.k8s.io"
_MUTATING = GroupResource(_GROUP, "mutatingadmissionpolicies")
_VALIDATING = GroupResource(_GROUP, "validatingadmissionpolicies")


class MutatingGate:
    """The way to the mutating policies of one logical cluster."""

    def __init__(self, storage: Storage, authorizer: Authorizer) -> None:
        self._storage, self._authorizer = storage, authorizer
        self._policies: MutatingPolicies | None = None

    def mutation(self, attributes: AdmissionAttributes) -> PolicyMutation | None:
        """One write's way through the policies; None if there is none for it."""
        if not self._storage.count(_MUTATING):
            return None
        if self._policies is None:
            from kapstan.apiserver.admission.policy.mutating import MutatingPolicies

            self._policies = MutatingPolicies(self._storage, self._authorizer)
        return self._policies.mutation(attributes)


class ValidatingGate:
    """The way to the validating policies of one logical cluster."""

    def __init__(self, storage: Storage, authorizer: Authorizer) -> None:
        self._storage, self._authorizer = storage, authorizer
        self._policies: ValidatingPolicies | None = None

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """The first refusal is raised, when all policies have been evaluated."""
        if not self._storage.count(_VALIDATING):
            return
        if self._policies is None:
            from kapstan.apiserver.admission.policy.validating import ValidatingPolicies

            self._policies = ValidatingPolicies(self._storage, self._authorizer)
        await self._policies.validate(attributes)
