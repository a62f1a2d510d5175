"""PolicyStatusController: tells in the status of validating policies what is wrong with their expressions."""

from __future__ import annotations

from typing import Any

import msgspec

from kapstan.apiserver.controllers.controller import CollectionController
from kapstan.machinery.gvk import GroupResource

__all__ = ("PolicyStatusController",)

Object = dict[str, Any]

_POLICIES = GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicies")


class PolicyStatusController(CollectionController):
    """Checks the types of every policy once, and again when its spec changes."""

    manager = "validatingadmissionpolicy-status"
    account = f"{manager}-controller"
    collection = _POLICIES

    async def reconcile(self, key: str) -> None:
        record = self._storage.get(_POLICIES, key)
        if record is None:
            return
        policy: Object = msgspec.json.decode(record.value)
        generation = policy["metadata"].get("generation", 0)
        if generation <= (policy.get("status") or {}).get("observedGeneration", 0):
            return
        from kapstan.apiserver.admission.policy.typechecking import expression_warnings

        warnings = expression_warnings(policy, self._cluster.kinds)
        status = {
            "observedGeneration": generation,
            "typeChecking": {"expressionWarnings": warnings} if warnings else {},
        }
        applied = {
            "apiVersion": policy["apiVersion"],
            "kind": policy["kind"],
            "metadata": {"name": record.name},
            "status": status,
        }
        await self._api.apply(applied, subresource="status")
