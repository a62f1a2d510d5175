"""MachineDrainRule: an order only for pods that are drained, and selectors that can be read."""

from __future__ import annotations

from collections.abc import Iterator

from kapstan.cluster.api.core import MachineDrainRule
from kapstan.cluster.skeleton.refusal import refuse
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.labels import InvalidSelector, from_label_selector
from kapstan.machinery.meta import LabelSelector
from kapstan.machinery.validation import FieldError, Path
from kapstan.runtime.webhook.declaration import validator

__all__ = ("rule_errors", "validate_machine_drain_rule")


@validator(MachineDrainRule, name="validation.machinedrainrule.cluster.x-k8s.io")
def validate_machine_drain_rule(new: MachineDrainRule, old: MachineDrainRule | None) -> None:
    refuse(new, list(rule_errors(new)))


def rule_errors(rule: MachineDrainRule) -> Iterator[FieldError]:
    """What is wrong with a rule."""
    drain, path = rule.spec.drain, Path("spec")
    if drain.behavior != "Drain" and drain.order is not None:
        detail = 'order must not be set if drain behavior is "Skip" or "WaitCompleted"'
        yield FieldError.invalid(path.child("drain", "order"), drain.order, detail)
    for index, machines in enumerate(rule.spec.machines):
        at = path.child("machines").index(index)
        yield from _selector_errors(machines.selector, at.child("selector"))
        yield from _selector_errors(machines.cluster_selector, at.child("clusterSelector"))
    for index, pods in enumerate(rule.spec.pods):
        at = path.child("pods").index(index)
        yield from _selector_errors(pods.selector, at.child("selector"))
        yield from _selector_errors(pods.namespace_selector, at.child("namespaceSelector"))


def _selector_errors(selector: LabelSelector | None, path: Path) -> Iterator[FieldError]:
    if selector is None:
        return
    try:
        from_label_selector(selector)
    except InvalidSelector as error:
        yield FieldError.invalid(path, to_builtins(selector), str(error))
