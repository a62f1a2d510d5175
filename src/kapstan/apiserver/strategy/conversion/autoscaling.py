"""HorizontalPodAutoscalers: v2 is stored; v1 has one target for CPU, and keeps the rest of v2 in annotations."""

from __future__ import annotations

import json
from typing import Any

__all__ = ("to_v1", "to_v2")

Object = dict[str, Any]

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS = f"{_PREFIX}metrics"
_CURRENT_METRICS = f"{_PREFIX}current-metrics"
_CONDITIONS = f"{_PREFIX}conditions"
_BEHAVIOR = f"{_PREFIX}behavior"
_ANNOTATIONS = (
    _METRICS,
    _CURRENT_METRICS,
    _CONDITIONS,
    _BEHAVIOR,
    f"{_PREFIX}scale-down-tolerance",
    f"{_PREFIX}scale-up-tolerance",
)
_SHARED_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


def to_v1(scaler: Object) -> Object:
    """An autoscaler of v2 as v1 has it."""
    spec, status = scaler["spec"], scaler.get("status") or {}
    metrics = spec.get("metrics") or []
    cpu = next((metric["resource"]["target"]["averageUtilization"] for metric in metrics if _is_cpu(metric)), None)
    kept = {
        _METRICS: [_metric_v1(metric) for metric in metrics if not _is_cpu(metric)],
        _CURRENT_METRICS: [_status_v1(metric) for metric in status.get("currentMetrics") or ()],
        _BEHAVIOR: _capitalized(spec["behavior"]) if spec.get("behavior") is not None else None,
        _CONDITIONS: status.get("conditions"),
    }
    new_spec = {key: spec[key] for key in ("scaleTargetRef", "minReplicas", "maxReplicas") if key in spec}
    new_status = {key: status[key] for key in _SHARED_STATUS if key in status}
    if cpu is not None:
        new_spec["targetCPUUtilizationPercentage"] = cpu
    for metric in status.get("currentMetrics") or ():
        resource = metric.get("resource") or {}
        if resource.get("name") == "cpu" and "averageUtilization" in resource["current"]:
            new_status["currentCPUUtilizationPercentage"] = resource["current"]["averageUtilization"]
    metadata = _with_annotations(scaler["metadata"], {key: value for key, value in kept.items() if value})
    return _made("autoscaling/v1", metadata, new_spec, new_status)


def to_v2(scaler: Object) -> Object:
    """An autoscaler of v1 as v2 has it."""
    spec, status, metadata = scaler["spec"], scaler.get("status") or {}, scaler["metadata"]
    annotations = metadata.get("annotations") or {}
    new_spec = {key: spec[key] for key in ("scaleTargetRef", "minReplicas", "maxReplicas") if key in spec}
    new_status = {key: status[key] for key in _SHARED_STATUS if key in status}
    metrics = [_metric_v2(metric) for metric in _read(annotations, _METRICS) or ()]
    cpu = spec.get("targetCPUUtilizationPercentage")
    if cpu is not None:
        target = {"type": "Utilization", "averageUtilization": cpu}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        new_spec["metrics"] = metrics
    behavior = _read(annotations, _BEHAVIOR)
    if isinstance(behavior, dict) and behavior:
        new_spec["behavior"] = _uncapitalized(behavior)
    current = [_status_v2(metric) for metric in _read(annotations, _CURRENT_METRICS) or ()]
    used = status.get("currentCPUUtilizationPercentage")
    if not current and used is not None:
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": used}}}]
    new_status |= {"currentMetrics": current} if current else {}
    conditions = _read(annotations, _CONDITIONS)
    new_status |= {"conditions": conditions} if conditions else {}
    return _made("autoscaling/v2", _with_annotations(metadata, {}), new_spec, new_status)


def _made(api_version: str, metadata: Object, spec: Object, status: Object) -> Object:
    return {
        "apiVersion": api_version,
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def _read(annotations: Object, name: str) -> Any:
    """What an annotation holds; nothing if it cannot be read."""
    try:
        return json.loads(annotations.get(name, "null"))
    except ValueError:
        return None


def _with_annotations(metadata: Object, values: Object) -> Object:
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key not in _ANNOTATIONS}
    annotations |= {key: json.dumps(value, separators=(",", ":")) for key, value in values.items()}
    return {**{key: value for key, value in metadata.items() if key != "annotations"}, **_some(annotations=annotations)}


def _some(**fields: Any) -> Object:
    """The fields that are there."""
    return {key: value for key, value in fields.items() if value is not None and value != {}}


def _is_cpu(metric: Object) -> bool:
    resource = metric.get("resource") or {}
    return resource.get("name") == "cpu" and "averageUtilization" in resource["target"]


def _field(type: str) -> str:
    return type[:1].lower() + type[1:]


def _metric_v1(metric: Object) -> Object:
    type = metric["type"]
    source = metric.get(_field(type)) or {}
    target, identity = source.get("target") or {}, source.get("metric") or {}
    average, name, selector = target.get("averageValue"), identity.get("name"), identity.get("selector")
    if type == "Object":
        made = {"target": source["describedObject"], "metricName": name, "targetValue": target.get("value", "0")}
        made |= _some(selector=selector, averageValue=average)
    elif type == "Pods":
        made = {"metricName": name, "targetAverageValue": average or "0", **_some(selector=selector)}
    elif type == "External":
        values = _some(metricSelector=selector, targetValue=target.get("value"), targetAverageValue=average)
        made = {"metricName": name, **values}
    else:
        values = _some(targetAverageUtilization=target.get("averageUtilization"), targetAverageValue=average)
        made = {"name": source.get("name"), **values, **_some(container=source.get("container"))}
    return {"type": type, _field(type): made}


def _metric_v2(metric: Object) -> Object:
    type = metric.get("type", "")
    source = metric.get(_field(type)) or {}
    identity = {"name": source.get("metricName", "")}
    if type == "Object":
        average = source.get("averageValue")
        value = None if average is not None and source.get("targetValue") in (None, "0") else source.get("targetValue")
        target = {"type": "Value" if average is None else "AverageValue", **_some(value=value, averageValue=average)}
        identity |= _some(selector=source.get("selector"))
        made: Object = {"describedObject": source.get("target") or {}, "target": target, "metric": identity}
    elif type == "Pods":
        target = {"type": "AverageValue", "averageValue": source.get("targetAverageValue", "0")}
        made = {"metric": {**identity, **_some(selector=source.get("selector"))}, "target": target}
    elif type == "External":
        value = source.get("targetValue")
        target = {"type": "AverageValue" if value is None else "Value"}
        target |= _some(value=value, averageValue=source.get("targetAverageValue"))
        made = {"metric": {**identity, **_some(selector=source.get("metricSelector"))}, "target": target}
    else:
        utilization = source.get("targetAverageUtilization")
        target = {"type": "AverageValue" if utilization is None else "Utilization"}
        target |= _some(averageValue=source.get("targetAverageValue"), averageUtilization=utilization)
        made = {"name": source.get("name", ""), "target": target, **_some(container=source.get("container"))}
    return {"type": type, _field(type): made}


def _status_v1(metric: Object) -> Object:
    type = metric["type"]
    source = metric.get(_field(type)) or {}
    current, identity = source.get("current") or {}, source.get("metric") or {}
    average, value, selector = current.get("averageValue"), current.get("value", "0"), identity.get("selector")
    if type == "Object":
        made = {"target": source["describedObject"], "metricName": identity.get("name"), "currentValue": value}
        made |= _some(selector=selector, averageValue=average)
    elif type == "Pods":
        made = {"metricName": identity.get("name"), "currentAverageValue": average or "0", **_some(selector=selector)}
    elif type == "External":
        made = {"metricName": identity.get("name"), **_some(metricSelector=selector), "currentValue": value}
        made |= _some(currentAverageValue=average)
    else:
        used = _some(currentAverageUtilization=current.get("averageUtilization"))
        made = {"name": source.get("name"), **used, "currentAverageValue": average or "0"}
        made |= _some(container=source.get("container"))
    return {"type": type, _field(type): made}


def _status_v2(metric: Object) -> Object:
    type = metric.get("type", "")
    source = metric.get(_field(type)) or {}
    identity = {"name": source.get("metricName", "")}
    if type == "Object":
        current = _some(value=source.get("currentValue"), averageValue=source.get("averageValue"))
        identity |= _some(selector=source.get("selector"))
        made: Object = {"metric": identity, "current": current, "describedObject": source.get("target") or {}}
    elif type == "Pods":
        identity |= _some(selector=source.get("selector"))
        made = {"metric": identity, "current": _some(averageValue=source.get("currentAverageValue"))}
    elif type == "External":
        identity |= _some(selector=source.get("metricSelector"))
        current = _some(value=source.get("currentValue"), averageValue=source.get("currentAverageValue"))
        made = {"metric": identity, "current": current}
    else:
        used, average = source.get("currentAverageUtilization"), source.get("currentAverageValue")
        made = {"name": source.get("name", ""), "current": _some(averageValue=average, averageUtilization=used)}
        made |= _some(container=source.get("container"))
    return {"type": type, _field(type): made}


def _capitalized(value: Any) -> Any:
    """With the names of Go's fields, which is how Kubernetes keeps a behavior."""
    if isinstance(value, dict):
        return {key[:1].upper() + key[1:]: _capitalized(item) for key, item in value.items()}
    return [_capitalized(item) for item in value] if isinstance(value, list) else value


def _uncapitalized(value: Any) -> Any:
    if isinstance(value, dict):
        return {_field(key): _uncapitalized(item) for key, item in value.items() if item is not None}
    return [_uncapitalized(item) for item in value] if isinstance(value, list) else value
