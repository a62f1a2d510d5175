"""Machine: its label, its version and its time-out are defaulted; its cluster cannot be changed."""

from __future__ import annotations

from collections.abc import Iterator

from kapstan.cluster.api.core import Machine
from kapstan.cluster.api.core.common import DeletionTimeouts
from kapstan.cluster.core.versions import parse_strict
from kapstan.cluster.core.webhooks.taints import taint_errors
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.refusal import refuse
from kapstan.machinery.validation import FieldError, Path
from kapstan.runtime.webhook.declaration import defaulter, validator

__all__ = ("DEFAULT_NODE_DELETION_TIMEOUT", "default_machine", "machine_errors", "validate_machine", "version_errors")

DEFAULT_NODE_DELETION_TIMEOUT = 10  # seconds


@defaulter(Machine, name="default.machine.cluster.x-k8s.io")
def default_machine(machine: Machine) -> None:
    """Fill in what can be known."""
    spec = machine.spec
    machine.metadata.labels[labels.CLUSTER_NAME] = spec.cluster_name
    if spec.version and not spec.version.startswith("v"):
        spec.version = f"v{spec.version}"
    spec.deletion = spec.deletion or DeletionTimeouts()
    if spec.deletion.node_deletion_timeout_seconds is None:
        spec.deletion.node_deletion_timeout_seconds = DEFAULT_NODE_DELETION_TIMEOUT


@validator(Machine, name="validation.machine.cluster.x-k8s.io")
def validate_machine(new: Machine, old: Machine | None) -> None:
    refuse(new, list(machine_errors(new, old)))


def machine_errors(new: Machine, old: Machine | None) -> Iterator[FieldError]:
    """What is wrong with a machine."""
    spec, path = new.spec, Path("spec")
    if spec.bootstrap.config_ref is None and spec.bootstrap.data_secret_name is None and not _is_of_pool(new):
        detail = "expected either spec.bootstrap.dataSecretName or spec.bootstrap.configRef to be populated"
        yield FieldError.required(path.child("bootstrap"), detail)
    if old is not None and old.spec.cluster_name != spec.cluster_name:
        yield FieldError.forbidden(path.child("clusterName"), "field is immutable")
    yield from version_errors(spec.version, path.child("version"))
    workers = labels.CONTROL_PLANE not in new.metadata.labels
    yield from taint_errors(spec.taints, path.child("taints"), workers=workers)


def version_errors(version: str | None, path: Path) -> Iterator[FieldError]:
    """What is wrong with a version of Kubernetes."""
    if not version:
        return
    if not version.startswith("v"):
        yield FieldError.invalid(path, version, "must start with v")
    if parse_strict(version) is None:
        yield FieldError.invalid(path, version, "must be a valid semantic version")


def _is_of_pool(machine: Machine) -> bool:
    """A pool bootstraps its machines itself."""
    owners = [owner.kind for owner in machine.metadata.owner_references]
    return labels.POOL_NAME in machine.metadata.labels or "MachinePool" in owners
