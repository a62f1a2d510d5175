"""Tables of workloads: apps, batch and autoscaling."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kapstan.apiserver.strategy.conversion.autoscaling import to_v2
from kapstan.apiserver.strategy.tables.table import AGE, NAME, Object, Table, boolean, integer, text, wide
from kapstan.apiserver.strategy.tables.writing import (
    NONE,
    UNKNOWN,
    UNSET,
    age,
    container_cells,
    human_duration,
    label_selector,
    label_set,
    name_of,
    shortened,
    since,
)
from kapstan.machinery import labels

__all__ = ("AUTOSCALERS", "TABLES")

_METRICS_SHOWN = 2
# The words for a job's state, in order of precedence; being deleted comes after the second.
_JOB_CONDITIONS = ("Complete", "Failed", "", "Suspended", "FailureTarget", "SuccessCriteriaMet")


def _controller_revision(obj: Object, now: datetime) -> list[Any]:
    owners = obj["metadata"].get("ownerReferences") or ()
    owner = next((one for one in owners if one.get("controller")), None)
    shown = NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        kind = f"{owner['kind']}.{group}" if group else owner["kind"]
        shown = f"{kind.lower()}/{owner['name']}"
    return [name_of(obj), shown, obj.get("revision", 0), age(obj, now)]


def _daemon_set(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    return [
        name_of(obj),
        *(status.get(field, 0) for field in (*counts, "numberAvailable")),
        label_set(spec["template"]["spec"].get("nodeSelector")),
        age(obj, now),
        *container_cells(spec["template"]),
        label_selector(spec.get("selector")),
    ]


def _deployment(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    try:
        selector = str(labels.from_label_selector(spec.get("selector")))
    except labels.InvalidSelector:
        selector = "<invalid>"
    return [
        name_of(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(obj, now),
        *container_cells(spec["template"]),
        selector,
    ]


def _replica_set(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    selector = label_selector(spec.get("selector"))
    return [name_of(obj), *counts, age(obj, now), *container_cells(spec.get("template")), selector]


def _stateful_set(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    ready = f"{(obj.get('status') or {}).get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name_of(obj), ready, age(obj, now), *container_cells(spec["template"])]


def _job(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    return [
        name_of(obj),
        _job_state(obj, status),
        _completions(spec, status.get("succeeded", 0)),
        _job_duration(status, now),
        age(obj, now),
        *container_cells(spec["template"]),
        label_selector(spec.get("selector")),
    ]


def _job_state(job: Object, status: Object) -> str:
    found: dict[str, str] = {}
    for condition in status.get("conditions") or ():
        found.setdefault(condition["type"], condition.get("status", ""))
    for word in _JOB_CONDITIONS:
        if word and found.get(word) == "True":
            return word
        if not word and job["metadata"].get("deletionTimestamp"):
            return "Terminating"
    return "Running"


def _completions(spec: Object, succeeded: int) -> str:
    if "completions" in spec:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Object, now: datetime) -> str:
    if not status.get("startTime"):
        return ""
    end = datetime.fromisoformat(status["completionTime"]) if status.get("completionTime") else now
    return human_duration(end - datetime.fromisoformat(status["startTime"]))


def _cron_job(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    suspend = spec.get("suspend")
    job = spec["jobTemplate"]["spec"]
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone", NONE),
        UNSET if suspend is None else str(suspend),
        len(status.get("active") or ()),
        since(status["lastScheduleTime"], now) if status.get("lastScheduleTime") else NONE,
        age(obj, now),
        *container_cells(job["template"]),
        label_selector(job.get("selector")),
    ]


def _autoscaler(obj: Object, now: datetime) -> list[Any]:
    scaler = to_v2(obj) if obj.get("apiVersion") == "autoscaling/v1" else obj
    spec, status = scaler["spec"], scaler.get("status") or {}
    target = spec["scaleTargetRef"]
    return [
        name_of(scaler),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec.get("metrics") or [], status.get("currentMetrics") or []),
        str(spec.get("minReplicas", UNSET)),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(scaler, now),
    ]


def _metrics(specs: list[Object], statuses: list[Object]) -> str:
    shown = [_metric(spec, statuses[index] if index < len(statuses) else {}) for index, spec in enumerate(specs)]
    return shortened(shown, _METRICS_SHOWN, separator=", ", empty=NONE)


def _metric(spec: Object, status: Object) -> str:
    """Where a metric is and where it should be, as `cpu: 40%/80%`."""
    field = spec.get("type", "")[:1].lower() + spec.get("type", "")[1:]
    if field not in ("external", "pods", "object", "resource", "containerResource"):
        return "<unknown type>"
    target, current = spec[field]["target"], (status.get(field) or {}).get("current") or {}
    if field in ("resource", "containerResource"):
        return f"{spec[field]['name']}: {_resource_metric(target, current)}"
    if field == "pods":
        return f"{current.get('averageValue', UNKNOWN)}/{target.get('averageValue', '0')}"
    if "averageValue" in target:
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']} (avg)"
    return f"{current.get('value', UNKNOWN)}/{target.get('value', '0')}"


def _resource_metric(target: Object, current: Object) -> str:
    if "averageValue" in target:
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']}"
    now, wanted = current.get("averageUtilization"), target.get("averageUtilization")
    return f"{UNKNOWN if now is None else f'{now}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


_TEMPLATE = wide("Containers", "Images")
_SELECTED = (*_TEMPLATE, *wide("Selector"))
AUTOSCALERS = Table((NAME, *text("Reference", "Targets", "MinPods", "MaxPods", "Replicas"), AGE), _autoscaler)

TABLES: Mapping[str, Table] = {
    "controllerrevisions": Table((NAME, *text("Controller", "Revision"), AGE), _controller_revision),
    "cronjobs": Table(
        (
            NAME,
            *text("Schedule", "Timezone"),
            *boolean("Suspend"),
            *integer("Active"),
            *text("Last Schedule"),
            AGE,
            *_SELECTED,
        ),
        _cron_job,
    ),
    "daemonsets": Table(
        (
            NAME,
            *integer("Desired", "Current", "Ready", "Up-to-date", "Available"),
            *text("Node Selector"),
            AGE,
            *_SELECTED,
        ),
        _daemon_set,
    ),
    "deployments": Table((NAME, *text("Ready", "Up-to-date", "Available"), AGE, *_SELECTED), _deployment),
    "horizontalpodautoscalers": AUTOSCALERS,
    "jobs": Table((NAME, *text("Status", "Completions", "Duration"), AGE, *_SELECTED), _job),
    "replicasets": Table((NAME, *integer("Desired", "Current", "Ready"), AGE, *_SELECTED), _replica_set),
    "statefulsets": Table((NAME, *text("Ready"), AGE, *_TEMPLATE), _stateful_set),
}
