"""Which pods have to leave a node that is drained, and how. Pure.

The order of the rules is Cluster API's, which is kubectl's with two more: a label of the pod, and MachineDrainRules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from kapstan.cluster.api.core import Cluster, Machine, MachineDrainRule
from kapstan.cluster.api.core.machinedrainrule import DrainBehavior
from kapstan.cluster.skeleton import labels
from kapstan.k8s.core_v1 import Pod
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.labels import InvalidSelector, from_label_selector
from kapstan.machinery.meta import LabelSelector

__all__ = ("BadRule", "Judge", "Judged", "daemon_set_of", "is_finished", "lost_at", "rules_for")

_STATIC = "kubernetes.io/config.mirror"
# Pods of a node that nobody can reach never end; so long after they should have, they are ignored.
_LOST_AFTER = timedelta(seconds=2)


class BadRule(KapstanError):
    """A MachineDrainRule cannot be read."""


class Judged(NamedTuple):
    """What is done with a pod."""

    pod: Pod
    behavior: DrainBehavior
    order: int = 0
    warning: str = ""


class Judge:
    """Decides about the pods of one node."""

    def __init__(
        self,
        rules: Sequence[MachineDrainRule],
        *,
        has_daemon_set: Callable[[ObjectKey], bool] = lambda key: True,
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
        unreachable: bool = False,
        now: datetime,
    ) -> None:
        """`namespaces` are the labels of each, where a rule asks for them."""
        self._rules = sorted(rules, key=lambda rule: rule.name)
        self._has_daemon_set = has_daemon_set
        self._namespaces = namespaces or {}
        self._unreachable, self._now = unreachable, now

    def judge(self, pod: Pod) -> Judged:
        if self._is_lost(pod):
            return Judged(pod, "Skip")
        daemon_set = daemon_set_of(pod)
        if daemon_set is not None and not is_finished(pod) and self._has_daemon_set(daemon_set):
            return Judged(pod, "Skip", warning="ignoring DaemonSet-managed Pod")
        if _STATIC in pod.metadata.annotations:
            return Judged(pod, "Skip")
        behavior, order = self._asked(pod)
        if behavior == "WaitCompleted" and is_finished(pod):
            behavior = "Skip"
        warning = ", ".join(_warnings(pod, daemon_set is not None)) if behavior == "Drain" else ""
        return Judged(pod, behavior, order, warning)

    def _is_lost(self, pod: Pod) -> bool:
        lost = lost_at(pod)
        return self._unreachable and lost is not None and lost <= self._now

    def _asked(self, pod: Pod) -> tuple[DrainBehavior, int]:
        """What the label of the pod or the first rule that matches it asks for."""
        said = pod.metadata.labels.get(labels.DRAIN, "").lower()
        if said == "skip":
            return "Skip", 0
        if said.replace("-", "", 1) == "waitcompleted":
            return "WaitCompleted", 0
        for rule in self._rules:
            if self._applies(rule, pod):
                drain = rule.spec.drain
                return drain.behavior, (drain.order or 0) if drain.behavior == "Drain" else 0
        return "Drain", 0

    def _applies(self, rule: MachineDrainRule, pod: Pod) -> bool:
        namespace = self._namespaces.get(pod.namespace, {})
        return not rule.spec.pods or any(
            _matches(rule, selection.selector, pod.metadata.labels)
            and _matches(rule, selection.namespace_selector, namespace)
            for selection in rule.spec.pods
        )


def lost_at(pod: Pod) -> datetime | None:
    """When nobody waits any longer for a pod to end, if its node cannot be reached; None if it was not asked to."""
    ends = pod.metadata.deletion_timestamp
    return ends + _LOST_AFTER if ends is not None else None


def rules_for(machine: Machine, cluster: Cluster, rules: Sequence[MachineDrainRule]) -> list[MachineDrainRule]:
    """The rules that speak of a machine."""
    return [
        rule
        for rule in rules
        if not rule.spec.machines
        or any(
            _matches(rule, selection.selector, machine.metadata.labels)
            and _matches(rule, selection.cluster_selector, cluster.metadata.labels)
            for selection in rule.spec.machines
        )
    ]


def daemon_set_of(pod: Pod) -> ObjectKey | None:
    """The DaemonSet that a pod belongs to: it would only come back."""
    owner = pod.controller_ref()
    return ObjectKey(pod.namespace, owner.name) if owner is not None and owner.kind == "DaemonSet" else None


def is_finished(pod: Pod) -> bool:
    return pod.status.phase in ("Succeeded", "Failed")


def _warnings(pod: Pod, orphaned: bool) -> list[str]:
    if is_finished(pod):
        return []
    warnings = ["evicting orphaned DaemonSet-managed Pod"] if orphaned else []
    if any(volume.empty_dir is not None for volume in pod.spec.volumes):
        warnings.append("evicting Pod with local storage")
    if pod.controller_ref() is None:
        warnings.append("evicting Pod that has no controller")
    return warnings


def _matches(rule: MachineDrainRule, selector: LabelSelector | None, of: Mapping[str, str]) -> bool:
    if selector is None:
        return True
    try:
        return from_label_selector(selector).matches(of)
    except InvalidSelector as error:
        raise BadRule(f"MachineDrainRule {rule.key}: {error}") from error
