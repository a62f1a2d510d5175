"""The admission of a logical cluster: kube-apiserver's plugins in its order, policies, webhooks, and escalation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kapstan.apiserver.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from kapstan.apiserver.admission.defaults import DefaultIngressClass, DefaultStorageClass, TaintNodesByCondition
from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin
from kapstan.apiserver.admission.lifecycle import NamespaceLifecycle
from kapstan.apiserver.admission.limits import LimitRanger
from kapstan.apiserver.admission.placement import NodeDeclaredFeatureValidator, PodResizeValidator, PodTopologyLabels
from kapstan.apiserver.admission.pods import DefaultTolerationSeconds, Priority
from kapstan.apiserver.admission.podsecurity.plugin import PodSecurity
from kapstan.apiserver.admission.policy.gate import MutatingGate, ValidatingGate
from kapstan.apiserver.admission.quota.plugin import ResourceQuotaAdmission
from kapstan.apiserver.admission.runtimeclass import RuntimeClassAdmission
from kapstan.apiserver.admission.serviceaccount import ServiceAccountAdmission
from kapstan.apiserver.admission.storageprotection import StorageObjectInUseProtection
from kapstan.apiserver.admission.volumes import PersistentVolumeClaimResize
from kapstan.apiserver.admission.webhook.client import WebhookClient
from kapstan.apiserver.admission.webhook.conditions import Conditions
from kapstan.apiserver.admission.webhook.dispatch import Dispatcher
from kapstan.apiserver.admission.webhook.mutating import MutatingWebhooks, Mutation
from kapstan.apiserver.admission.webhook.services import Services
from kapstan.apiserver.admission.webhook.validating import ValidatingWebhooks
from kapstan.apiserver.authz.authorizer import ClusterAuthorizer
from kapstan.apiserver.authz.escalation import EscalationCheck
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.storage.interface import Storage

if TYPE_CHECKING:
    from kapstan.apiserver.admission.policy.mutating import PolicyMutation

__all__ = ("ClusterAdmission",)


class ClusterAdmission:
    """What every write to one logical cluster goes through."""

    def __init__(self, storage: Storage, authorizer: ClusterAuthorizer, client: WebhookClient) -> None:
        """`client` may be shared by any number of clusters."""
        self.services = Services(storage)
        dispatcher, conditions = Dispatcher(client, self.services), Conditions(authorizer)
        self.plugins = default_plugins(storage, authorizer)
        self._chosen: dict[tuple[ServedKind, str, str], tuple[Plugin, ...]] = {}
        self._generation = -1
        self._mutating: dict[str, MutatingGate | MutatingWebhooks] = {
            "MutatingAdmissionPolicy": MutatingGate(storage, authorizer),
            "MutatingAdmissionWebhook": MutatingWebhooks(storage, dispatcher, conditions),
        }
        self._validating: dict[str, ValidatingGate | ValidatingWebhooks] = {
            "ValidatingAdmissionPolicy": ValidatingGate(storage, authorizer),
            "ValidatingAdmissionWebhook": ValidatingWebhooks(storage, dispatcher, conditions),
        }
        self._last = EscalationCheck(authorizer)

    def disable(self, names: Collection[str]) -> list[str]:
        """Do without plugins of these names from now on; returns the names that none of them has."""
        known = {*(one.name for one in self.plugins), *self._mutating, *self._validating}
        self.plugins = tuple(one for one in self.plugins if one.name not in names)
        self._chosen.clear()
        for name in names:
            self._mutating.pop(name, None)
            self._validating.pop(name, None)
        return [name for name in names if name not in known]

    async def admit(self, attributes: AdmissionAttributes) -> None:
        plugins = self._plugins(attributes)
        found = [one.mutation(attributes) for one in self._mutating.values()]
        mutations = [mutation for mutation in found if mutation is not None]
        await _mutate(plugins, mutations, attributes)
        if any(mutation.changed for mutation in mutations):
            await _mutate(plugins, mutations, attributes)
        if self._last.handles(attributes):
            await self._last.admit(attributes)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        plugins = self._plugins(attributes)
        for plugin in plugins:
            if not plugin.comes_last:
                await plugin.validate(attributes)
        for one in self._validating.values():
            await one.validate(attributes)
        for plugin in plugins:
            if plugin.comes_last:
                await plugin.validate(attributes)

    def _plugins(self, attributes: AdmissionAttributes) -> tuple[Plugin, ...]:
        """Those that have to do with such a write: that depends on what is written and how, on nothing else."""
        generation = attributes.request.cluster.kinds.generation
        if generation != self._generation:
            self._chosen.clear()
            self._generation = generation
        key = (attributes.kind, attributes.subresource, attributes.operation)
        found = self._chosen.get(key)
        if found is None:
            found = self._chosen[key] = tuple(one for one in self.plugins if one.handles(attributes))
        return found


async def _mutate(
    plugins: Sequence[Plugin], mutations: Sequence[PolicyMutation | Mutation], attributes: AdmissionAttributes
) -> None:
    for plugin in plugins:
        await plugin.admit(attributes)
    for mutation in mutations:
        await mutation.run()


def default_plugins(storage: Storage, authorizer: ClusterAuthorizer) -> tuple[Plugin, ...]:
    return (
        NamespaceLifecycle(storage),
        LimitRanger(storage),
        ServiceAccountAdmission(storage),
        TaintNodesByCondition(),
        PodSecurity(storage),
        Priority(storage),
        DefaultTolerationSeconds(),
        DefaultStorageClass(storage),
        StorageObjectInUseProtection(),
        PersistentVolumeClaimResize(storage),
        RuntimeClassAdmission(storage),
        CertificateApproval(authorizer),
        CertificateSigning(authorizer),
        CertificateSubjectRestriction(),
        DefaultIngressClass(storage),
        PodTopologyLabels(storage),
        NodeDeclaredFeatureValidator(storage),
        PodResizeValidator(storage),
        ResourceQuotaAdmission(storage),
    )
