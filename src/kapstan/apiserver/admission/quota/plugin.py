"""ResourceQuotaAdmission: no write takes more than the quotas of its namespace allow.

What a write takes is written down in the quota before the object is stored, so that of two writes at once only one gets
the last place. The controller puts right what was written down for an object that did not come to be.
"""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin
from kapstan.apiserver.admission.quota.charge import charges
from kapstan.apiserver.admission.quota.measures import Measure, measure_of
from kapstan.apiserver.request import LOOPBACK
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.errors import Conflict, NotFound
from kapstan.machinery.gvk import GroupResource

__all__ = ("ResourceQuotaAdmission",)

Object = dict[str, Any]

_QUOTAS = GroupResource("", "resourcequotas")
_MANAGER = "kube-apiserver"
_ATTEMPTS = 20  # while others write the same quota


class ResourceQuotaAdmission(Plugin):
    """What it charges for should not be refused by another: it is asked when all others have agreed."""

    comes_last = True

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def handles(self, attributes: AdmissionAttributes) -> bool:
        kind = attributes.kind
        if attributes.operation not in ("CREATE", "UPDATE") or not kind.namespaced:
            return False
        measure = measure_of(kind.gvr.group_resource)
        return measure is not None and measure.handles(attributes.operation, attributes.subresource)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        if not self._storage.count(_QUOTAS):
            return
        measure = measure_of(attributes.kind.gvr.group_resource)
        assert measure is not None
        obj, old = attributes.object, attributes.old
        assert obj is not None
        if old is None or measure.charges_update(obj, old, attributes.subresource):
            await self._charge(measure, attributes)

    async def _charge(self, measure: Measure, attributes: AdmissionAttributes) -> None:
        """Write down what is taken; quotas that somebody changed meanwhile are looked at again."""
        api = attributes.request.cluster.api.as_user(LOOPBACK, _MANAGER)
        done: set[str] = set()
        for attempt in range(_ATTEMPTS):
            quotas = [quota for quota in self._quotas(attributes.namespace) if quota["metadata"]["name"] not in done]
            changed = charges(quotas, measure, attributes)
            if attributes.dry_run:
                return
            try:
                for quota in changed:
                    await api.update(quota, subresource="status")
                    done.add(quota["metadata"]["name"])
                return
            except (Conflict, NotFound):
                if attempt == _ATTEMPTS - 1:
                    raise

    def _quotas(self, namespace: str) -> list[Object]:
        """As they are after the writes that still wait for the disk."""
        found = (self._storage.latest(_QUOTAS, one.key) for one in self._storage.list(_QUOTAS, f"{namespace}/"))
        return [codec.decode_any(record.value) for record in found if record is not None]
