"""Defaults of workloads: apps, batch and autoscaling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.apiserver.strategy.defaults.constants import API, Default

__all__ = ("DEFAULTS", "DEFAULT_CPU_UTILIZATION")

Object = dict[str, Any]

DEFAULT_CPU_UTILIZATION = 80

_APPS = f"{API}apps/v1."
_BATCH = f"{API}batch/v1."
_AUTOSCALING = f"{API}autoscaling/v2."
_METRICS_ANNOTATION = "autoscaling.alpha.kubernetes.io/metrics"
_MAX_INT32 = 2**31 - 1
_SCALE_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": (
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ),
}
_SCALE_DOWN = {"selectPolicy": "Max", "policies": ({"type": "Percent", "value": 100, "periodSeconds": 15},)}


def _deployment(spec: Object) -> None:
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def _daemon_set(spec: Object) -> None:
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)


def _stateful_set(spec: Object) -> None:
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


def _job(job: Object) -> None:
    spec = job["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in spec else 6)
    labels = spec["template"]["metadata"].get("labels")
    if labels:
        job["metadata"].setdefault("labels", dict(labels))
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)


def _pod_condition_pattern(pattern: Object) -> None:
    if not pattern.get("status"):
        pattern["status"] = "True"


def _autoscaler_v1(scaler: Object) -> None:
    """Without any metric, autoscalers look at the CPU."""
    if _METRICS_ANNOTATION not in (scaler["metadata"].get("annotations") or {}):
        scaler["spec"].setdefault("targetCPUUtilizationPercentage", DEFAULT_CPU_UTILIZATION)


def _autoscaler(spec: Object) -> None:
    spec.setdefault("minReplicas", 1)
    if "metrics" not in spec:
        target = {"type": "Utilization", "averageUtilization": DEFAULT_CPU_UTILIZATION}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        for name, defaults in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
            rules = behavior.setdefault(name, {})
            for key, value in defaults.items():
                rules.setdefault(key, [dict(policy) for policy in value] if isinstance(value, tuple) else value)


DEFAULTS: Mapping[str, Default] = {
    f"{_APPS}DaemonSetSpec": _daemon_set,
    f"{_APPS}DeploymentSpec": _deployment,
    f"{_APPS}StatefulSetSpec": _stateful_set,
    f"{API}autoscaling/v1.HorizontalPodAutoscaler": _autoscaler_v1,
    f"{_AUTOSCALING}HorizontalPodAutoscalerSpec": _autoscaler,
    f"{_BATCH}Job": _job,
    f"{_BATCH}PodFailurePolicyOnPodConditionsPattern": _pod_condition_pattern,
}
