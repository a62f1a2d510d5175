"""MachineHealthCheck: its label and its time-out are defaulted; it selects machines of its own cluster, and some."""

from __future__ import annotations

from collections.abc import Iterator

from kapstan.cluster.api.core import MachineHealthCheck
from kapstan.cluster.api.core.common import HealthChecks, RemediationTrigger
from kapstan.cluster.core.machinehealthcheck.health import DEFAULT_NODE_STARTUP_TIMEOUT
from kapstan.cluster.core.machinehealthcheck.limits import is_share
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.refusal import refuse
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.labels import InvalidSelector, from_label_selector
from kapstan.machinery.meta import LabelSelector
from kapstan.machinery.validation import FieldError, Path
from kapstan.runtime.webhook.declaration import defaulter, validator

__all__ = ("default_machine_health_check", "health_check_errors", "validate_machine_health_check")

_SHORTEST_STARTUP = 30  # seconds


@defaulter(MachineHealthCheck, name="default.machinehealthcheck.cluster.x-k8s.io")
def default_machine_health_check(check: MachineHealthCheck) -> None:
    """Fill in what can be known."""
    check.metadata.labels[labels.CLUSTER_NAME] = check.spec.cluster_name
    check.spec.checks = check.spec.checks or HealthChecks()
    if check.spec.checks.node_startup_timeout_seconds is None:
        check.spec.checks.node_startup_timeout_seconds = DEFAULT_NODE_STARTUP_TIMEOUT


@validator(MachineHealthCheck, name="validation.machinehealthcheck.cluster.x-k8s.io")
def validate_machine_health_check(new: MachineHealthCheck, old: MachineHealthCheck | None) -> None:
    refuse(new, list(health_check_errors(new, old)))


def health_check_errors(new: MachineHealthCheck, old: MachineHealthCheck | None) -> Iterator[FieldError]:
    """What is wrong with a check."""
    spec, path = new.spec, Path("spec")
    yield from _selector_errors(spec.selector, spec.cluster_name, path.child("selector"))
    if old is not None and old.spec.cluster_name != spec.cluster_name:
        yield FieldError.forbidden(path.child("clusterName"), "field is immutable")
    startup = spec.checks.node_startup_timeout_seconds if spec.checks is not None else None
    if startup is not None and 0 < startup < _SHORTEST_STARTUP:
        yield FieldError.invalid(path.child("checks", "nodeStartupTimeoutSeconds"), startup, "must be at least 30s")
    if spec.remediation is not None and spec.remediation.trigger_if is not None:
        yield from _trigger_errors(spec.remediation.trigger_if, path.child("remediation", "triggerIf"))


def _selector_errors(selector: LabelSelector, cluster_name: str, path: Path) -> Iterator[FieldError]:
    try:
        empty = from_label_selector(selector).empty
    except InvalidSelector as error:
        yield FieldError.invalid(path, to_builtins(selector), str(error))
        return
    if empty:
        yield FieldError.required(path, "selector must not be empty")
    if selector.match_labels.get(labels.CLUSTER_NAME, cluster_name) != cluster_name:
        detail = "cannot specify a cluster selector other than the one specified by ClusterName"
        yield FieldError.invalid(path, to_builtins(selector), detail)


def _trigger_errors(trigger: RemediationTrigger, path: Path) -> Iterator[FieldError]:
    limit = trigger.unhealthy_less_than_or_equal_to
    if limit is not None and not is_share(limit):
        detail = "must be either an int or a percentage"
        yield FieldError.invalid(path.child("unhealthyLessThanOrEqualTo"), limit, detail)
