"""Webhooks of core's kinds: defaults and rules that a schema cannot express.

Each is a pure function with its declaration; `WEBHOOKS` is what a manager serves.
"""

from kapstan.cluster.core.webhooks.cluster import default_cluster, validate_cluster
from kapstan.cluster.core.webhooks.machine import default_machine, validate_machine
from kapstan.cluster.core.webhooks.machinedeployment import default_machine_deployment, validate_machine_deployment
from kapstan.cluster.core.webhooks.machinedrainrule import validate_machine_drain_rule
from kapstan.cluster.core.webhooks.machinehealthcheck import (
    default_machine_health_check,
    validate_machine_health_check,
)
from kapstan.cluster.core.webhooks.machineset import default_machine_set, validate_machine_set

__all__ = ("WEBHOOKS",)

WEBHOOKS = (
    default_cluster,
    validate_cluster,
    default_machine,
    validate_machine,
    default_machine_set,
    validate_machine_set,
    default_machine_deployment,
    validate_machine_deployment,
    validate_machine_drain_rule,
    default_machine_health_check,
    validate_machine_health_check,
)
