"""Selection: the machines and sets that a label selector means. One that is empty means nothing, not everything."""

from __future__ import annotations

from collections.abc import Mapping

from kapstan.cluster.api.core import MachineDeployment, MachineHealthCheck, MachineSet
from kapstan.machinery.labels import InvalidSelector, Selector, from_label_selector
from kapstan.machinery.meta import LabelSelector
from kapstan.runtime.reconcile import TerminalError

__all__ = ("selector_of", "selects")


def selector_of(owner: MachineSet | MachineDeployment | MachineHealthCheck) -> Selector:
    """What an object selects; TerminalError if nobody can tell."""
    try:
        selector = from_label_selector(owner.spec.selector)
    except InvalidSelector as error:
        raise TerminalError(f"{owner}: spec.selector cannot be read: {error}") from error
    if selector.empty:
        raise TerminalError(f"{owner}: spec.selector is empty and would select every machine; give it labels")
    return selector


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether a selector means an object with these labels. One that cannot be read is for its owner to complain of."""
    try:
        wanted = from_label_selector(selector)
    except InvalidSelector:
        return False
    return not wanted.empty and wanted.matches(labels)
