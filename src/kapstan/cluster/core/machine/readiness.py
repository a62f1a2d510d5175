"""Ready: a machine's conditions summed up. Pure.

Many machines' Ready become one condition of their owners, so it says little, and the same for machines in the same
state: not which pods hold up a deletion, but that pods do.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kapstan.cluster.api.core import Machine
from kapstan.cluster.core.machines import DELAYS
from kapstan.cluster.skeleton.conditions import ConditionType, get, true
from kapstan.cluster.skeleton.merging import Priority, PriorityFunction, Reasons, priority_of, summary
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.meta import Condition

__all__ = ("ready",)

_SUMMED_UP = (
    ConditionType.DELETING,
    ConditionType.UPDATING,
    ConditionType.BOOTSTRAP_CONFIG_READY,
    ConditionType.INFRASTRUCTURE_READY,
    ConditionType.NODE_HEALTHY,
    ConditionType.HEALTH_CHECK_SUCCEEDED,
)
# While a machine goes, it is no issue that its parts have gone.
_GONE: dict[str, tuple[str, ...]] = {
    ConditionType.BOOTSTRAP_CONFIG_READY: (Reason.OBJECT_DELETED, Reason.OBJECT_DOES_NOT_EXIST),
    ConditionType.INFRASTRUCTURE_READY: (Reason.OBJECT_DELETED, Reason.OBJECT_DOES_NOT_EXIST),
    ConditionType.NODE_HEALTHY: (Reason.NODE_DELETED, Reason.NODE_DOES_NOT_EXIST),
}
_LONG, _LONG_DRAIN = timedelta(minutes=15), timedelta(minutes=5)


def ready(machine: Machine) -> Condition:
    gates = machine.spec.readiness_gates
    negative = [gate.condition_type for gate in gates if gate.polarity == "Negative"]
    return summary(
        machine.status.conditions,
        ConditionType.READY,
        [*_SUMMED_UP, *(gate.condition_type for gate in gates)],
        Reasons(Reason.NOT_READY, Reason.READY_UNKNOWN, Reason.READY),
        priority=_priority(machine.deleting, negative),
        optional=(ConditionType.HEALTH_CHECK_SUCCEEDED,),
        instead={ConditionType.DELETING: _deleting(machine)} if machine.deleting else None,
        rewrite=_with_components_grouped,
    )


def _priority(deleting: bool, negative: list[str]) -> PriorityFunction:
    default = priority_of(ConditionType.DELETING, ConditionType.UPDATING, *negative)

    def priority(condition: Condition) -> Priority:
        if deleting and condition.reason in _GONE.get(condition.type, ()):
            return Priority.INFO
        return default(condition)

    return priority


def _deleting(machine: Machine) -> Condition:
    """The stage of the deletion, and if it takes long, what may be the cause."""
    found, deleted = get(machine, ConditionType.DELETING), machine.metadata.deletion_timestamp
    now = datetime.now(UTC)
    lasting = deleted is not None and now - deleted > _LONG
    message = f"Machine deletion in progress{' since more than 15m' if lasting else ''}"
    if found is not None:
        message += f", stage: {found.reason}"
        causes = [cause for words, cause in DELAYS.items() if words in found.message]
        drained = machine.status.deletion.node_drain_start_time if machine.status.deletion is not None else None
        draining = found.reason == Reason.DRAINING_NODE and drained is not None and now - drained > _LONG_DRAIN
        if lasting and draining and causes:
            message += f", delay likely due to {', '.join(causes)}"
    return true(ConditionType.DELETING, Reason.DELETING, message)


def _with_components_grouped(lines: list[str]) -> list[str]:
    """Conditions of the components of a control plane that all say the same become one line."""
    texts = {line.partition(":")[2] for line in lines if _is_component(line)}
    places = [place for place, line in enumerate(lines) if _is_component(line)]
    if len(texts) != 1 or len(places) < 2:
        return lines
    grouped = f"* Control plane components:{texts.pop()}"
    return [grouped if place == places[0] else line for place, line in enumerate(lines) if place not in places[1:]]


def _is_component(line: str) -> bool:
    name = line.partition(":")[0]
    return name == "* EtcdPodHealthy" or name.startswith(("* APIServer", "* ControllerManager", "* Scheduler"))
