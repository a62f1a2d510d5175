"""Checks before a machine is made or replaced: a machine that could not join must not be begun.

They look at the control plane, if it has a version: it must not be on its way to another one, and the machines must be
of a version that Kubernetes (and kubeadm, where it is used) supports beside it. An annotation skips them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kapstan.cluster.api.core import Cluster, MachineSet
from kapstan.cluster.contract.objects import ControlPlane
from kapstan.cluster.core.machineset.scope import Scope
from kapstan.cluster.core.versions import Version, compare, parse
from kapstan.cluster.skeleton import labels
from kapstan.machinery.errors import KapstanError

__all__ = ("CHECKS", "check", "failed_checks", "skipped_checks")

_ALL = "All"
_STABLE = "ControlPlaneIsStable"
_KUBERNETES = "KubernetesVersionSkew"
_KUBEADM = "KubeadmVersionSkew"
_SAME = "ControlPlaneVersionSkew"
CHECKS = (_ALL, _STABLE, _KUBERNETES, _KUBEADM, _SAME)
_SKEW = 3  # minor versions that a kubelet may be older
_UPGRADE_STEP = "topology.internal.cluster.x-k8s.io/upgrade-step"


class NotVersioned(KapstanError):
    """A version that cannot be compared."""


async def failed_checks(scope: Scope) -> list[str]:
    """Why no machine may be made at present; empty if none of the checks is against it."""
    bootstrap = scope.templates.bootstrap
    template = bootstrap.found.annotations if bootstrap is not None and bootstrap.found is not None else {}
    skipped = skipped_checks(scope.machine_set.metadata.annotations) or skipped_checks(template)
    ref = scope.cluster.spec.control_plane_ref
    if _ALL in skipped or ref is None:
        return []
    control_plane = await scope.providers.find(ControlPlane, ref, scope.cluster.namespace)
    if control_plane is None:
        return [f"{ref.kind} {scope.cluster.namespace}/{ref.name} does not exist"]
    return [message for name, message in check(control_plane, scope.cluster, scope.machine_set) if name not in skipped]


def skipped_checks(annotations: dict[str, str]) -> set[str]:
    return {name.strip() for name in annotations.get(labels.SKIP_PREFLIGHT_CHECKS, "").split(",")} - {""}


def check(control_plane: ControlPlane, cluster: Cluster, machine_set: MachineSet) -> Iterator[tuple[str, str]]:
    """The checks that fail, by their names. A control plane that says nothing of its version passes them all."""
    if not control_plane.version:
        return
    named = f"{control_plane.kind} {control_plane.namespace}/{control_plane.name}"
    wanted = _parsed(control_plane.version, named)
    unstable = _unstable(control_plane, wanted, cluster, named)
    if unstable:
        yield _STABLE, f'{named} {unstable} ("{_STABLE}" preflight check failed)'
    text = machine_set.spec.template.spec.version
    if text:
        yield from _skews(wanted, _parsed(text, str(machine_set)), machine_set)
        if cluster.spec.topology is not None and text != control_plane.version:
            yield (
                _SAME,
                (
                    f"MachineSet version ({text}) is not yet the same as the ControlPlane version "
                    f"({control_plane.version}), waiting for version to be propagated to the MachineSet "
                    f'("{_SAME}" preflight check failed)'
                ),
            )


def _unstable(control_plane: ControlPlane, wanted: Version, cluster: Cluster, named: str) -> str:
    topology = cluster.spec.topology
    step = cluster.metadata.annotations.get(_UPGRADE_STEP)
    if topology is not None and control_plane.version not in (topology.version, step):
        return f"has a pending version upgrade to {step or topology.version}"
    running = [count.version for count in control_plane.versions if count.version]
    if not running:
        return "is provisioning"
    behind = any(compare(wanted, _parsed(version, named)) > 0 for version in running)
    return "is upgrading" if behind else ""


def _skews(control_plane: Version, machines: Version, machine_set: MachineSet) -> Iterator[tuple[str, str]]:
    both = f"MachineSet version ({machines}) and ControlPlane version ({control_plane}) do not conform to"
    if machines.minor > control_plane.minor:
        why = "the kubernetes version skew policy as MachineSet version is higher than ControlPlane version"
        yield _KUBERNETES, f'{both} {why} ("{_KUBERNETES}" preflight check failed)'
    if machines.minor < control_plane.minor - _SKEW:
        why = (
            f"the kubernetes version skew policy as MachineSet version is more than {_SKEW} minor versions older "
            "than the ControlPlane version"
        )
        yield _KUBERNETES, f'{both} {why} ("{_KUBERNETES}" preflight check failed)'
    ref = machine_set.spec.template.spec.bootstrap.config_ref
    kubeadm = ref is not None and (ref.kind, ref.api_group) == ("KubeadmConfigTemplate", "bootstrap.cluster.x-k8s.io")
    if kubeadm and machines.minor != control_plane.minor:
        why = (
            "kubeadm version skew policy as kubeadm only supports joining with the same major+minor version "
            "as the control plane"
        )
        yield _KUBEADM, f'{both} {why} ("{_KUBEADM}" preflight check failed)'


def _parsed(text: str, whose: str) -> Version:
    version = parse(text)
    if version is None:
        raise NotVersioned(f"{whose}: {text!r} is not a version of Kubernetes, such as v1.36.0")
    return version
