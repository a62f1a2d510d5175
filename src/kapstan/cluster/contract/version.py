"""Which contract a provider's kind follows, and in which version core reads it: labels of its CRD say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import GroupKind, GroupVersionKind, version_priority
from kapstan.machinery.scheme import pluralize

__all__ = ("CONTRACTS", "Contract", "NoContract", "contract_of", "crd_name")

# The newest first. v1beta1 is read as long as there are providers that speak it.
CONTRACTS = ("v1beta2", "v1beta1")
_LABEL = "cluster.x-k8s.io/"


class NoContract(KapstanError):
    """A provider's CRD does not say which contract it follows."""


class Contract(NamedTuple):
    """A contract, and the version of the kind that follows it."""

    name: str
    version: str

    @property
    def legacy(self) -> bool:
        """Whether fields are where v1beta1 had them."""
        return self.name == "v1beta1"

    def kind(self, group_kind: GroupKind) -> GroupVersionKind:
        return GroupVersionKind(group_kind.group, self.version, group_kind.kind)


def crd_name(group_kind: GroupKind) -> str:
    """The name that the CRD of a provider's kind must have."""
    return f"{pluralize(group_kind.kind.lower())}.{group_kind.group}"


def contract_of(group_kind: GroupKind, labels: Mapping[str, str]) -> Contract:
    """The newest contract that the labels of the CRD name, with the newest version that follows it."""
    for name in CONTRACTS:
        versions = [version for version in labels.get(_LABEL + name, "").split("_") if version]
        if versions:
            return Contract(name, max(versions, key=version_priority))
    raise NoContract(
        f"CRD {crd_name(group_kind)} has no label {_LABEL}{CONTRACTS[0]} that names the versions which follow the "
        f"contract; label it, for example with {_LABEL}{CONTRACTS[0]}=v1beta1"
    )
