"""Workloads of the apps group, and replication controllers: templates, selectors, and how updates roll out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kapstan.apiserver.strategy.validation.claims import claim_spec
from kapstan.apiserver.strategy.validation.common import (
    IMMUTABLE,
    Object,
    Rules,
    dns_label,
    label_selector,
    nonnegative,
    number_or_percent,
    selector_value,
    struct,
)
from kapstan.apiserver.strategy.validation.pods import pod_template
from kapstan.machinery import labels as selectors
from kapstan.machinery.validation import FieldError, Path

__all__ = (
    "controller_revision",
    "controller_revision_update",
    "daemon_set",
    "daemon_set_status",
    "daemon_set_update",
    "deployment",
    "deployment_status",
    "deployment_update",
    "pod_template_object",
    "pod_template_object_update",
    "replica_set",
    "replica_set_status",
    "replica_set_update",
    "replication_controller",
    "replication_controller_update",
    "selected_template",
    "stateful_set",
    "stateful_set_status",
    "stateful_set_update",
)

_SPEC = Path("spec")
_STATUS = Path("status")
_NO_MATCH = "`selector` does not match template `labels`"
_STATEFUL_FIELDS = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _selector(spec: Object, kind: str) -> Rules:
    selector, path = spec.get("selector"), _SPEC.child("selector")
    if selector is None:
        yield FieldError.required(path)
        return
    yield from label_selector(selector, path)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield FieldError.invalid(path, selector_value(selector), f"empty selector is invalid for {kind}")


def _selector_change(obj: Object, old: Object) -> Rules:
    new, before = (side["spec"].get("selector") for side in (obj, old))
    if new != before:
        yield FieldError.invalid(_SPEC.child("selector"), selector_value(new), IMMUTABLE)


def selected_template(selector: Object | None, template: Object, path: Path, *, empty_matches: bool = True) -> Rules:
    """A template whose pods are the ones that are selected."""
    parsed = _parsed(selector)
    if parsed is None:
        return
    labels = template["metadata"].get("labels")
    if not (empty_matches and parsed.empty) and not parsed.matches(labels):
        yield FieldError.invalid(path.child("metadata", "labels"), labels, _NO_MATCH)


def _always_restarted(template: Object, path: Path, kind: str) -> Rules:
    spec = template["spec"]
    if spec.get("restartPolicy") != "Always":
        yield FieldError.not_supported(path.child("spec", "restartPolicy"), spec.get("restartPolicy", ""), ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        yield FieldError.forbidden(path.child("spec", "activeDeadlineSeconds"), detail)


def _parsed(selector: Object | None) -> selectors.Selector | None:
    try:
        return selectors.from_label_selector(selector)
    except selectors.InvalidSelector:
        return None


def _replicated_template(spec: Object) -> Rules:
    path = _SPEC.child("template")
    if _parsed(spec.get("selector")) is None:
        yield FieldError.invalid(_SPEC.child("selector"), selector_value(spec["selector"]), "invalid label selector")
        return
    yield from selected_template(spec.get("selector"), spec["template"], path)
    yield from pod_template(spec["template"], path)
    yield from _always_restarted(spec["template"], path, "ReplicaSet")


def _counts(
    status: Object, fields: tuple[str, ...], of_replicas: tuple[str, ...], ready: str = "readyReplicas"
) -> Rules:
    for field in fields:
        if status.get(field) is not None:
            yield from nonnegative(status[field], _STATUS.child(field))
    replicas = status.get("replicas", 0)
    for field in of_replicas:
        if status.get(field, 0) > replicas:
            yield FieldError.invalid(
                _STATUS.child(field), status.get(field, 0), "cannot be greater than status.replicas"
            )
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        yield FieldError.invalid(_STATUS.child("availableReplicas"), available, f"cannot be greater than {ready}")


def _collisions(obj: Object, old: Object) -> Rules:
    new, before = (side.get("status") or {} for side in (obj, old))
    if new.get("collisionCount", 0) < before.get("collisionCount", 0):
        yield FieldError.invalid(_STATUS.child("collisionCount"), new.get("collisionCount", 0), "cannot be decremented")


# Deployments ----------------------------------------------------------------------------------------------------------


def deployment(obj: Object) -> Rules:
    spec = obj["spec"]
    yield from nonnegative(spec["replicas"], _SPEC.child("replicas"))
    yield from _selector(spec, "deployment")
    yield from _replicated_template(spec)
    yield from _deployment_strategy(spec["strategy"], _SPEC.child("strategy"))
    ready = spec.get("minReadySeconds", 0)
    yield from nonnegative(ready, _SPEC.child("minReadySeconds"))
    yield from nonnegative(spec["revisionHistoryLimit"], _SPEC.child("revisionHistoryLimit"))
    deadline, path = spec["progressDeadlineSeconds"], _SPEC.child("progressDeadlineSeconds")
    yield from nonnegative(deadline, path)
    if deadline <= ready:
        yield FieldError.invalid(path, deadline, "must be greater than minReadySeconds")


def _deployment_strategy(strategy: Object, path: Path) -> Rules:
    kind = strategy.get("type")
    rolling: Any = strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            yield FieldError.forbidden(path.child("rollingUpdate"), detail)
    elif kind == "RollingUpdate":
        at = path.child("rollingUpdate")
        unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
        yield from number_or_percent(unavailable, at.child("maxUnavailable"))
        yield from number_or_percent(surge, at.child("maxSurge"))
        if _amount(unavailable) == 0 and _amount(surge) == 0:
            detail = "may not be 0 when `maxSurge` is 0"
            yield FieldError.invalid(at.child("maxUnavailable"), unavailable, detail)
        yield from _not_more_than_all(unavailable, at.child("maxUnavailable"))
    else:
        shown = struct(Type=kind, RollingUpdate=_rolling(rolling))
        yield FieldError.not_supported(path, shown, ("Recreate", "RollingUpdate"))


def _amount(value: int | str) -> int:
    """A number, or the number before the percent sign."""
    if isinstance(value, int):
        return value
    return int(value[:-1]) if re.fullmatch("[0-9]+%", value) else 0


def _not_more_than_all(value: int | str, path: Path) -> Rules:
    if isinstance(value, str) and _amount(value) > 100:
        yield FieldError.invalid(path, value, "must not be greater than 100%")


def deployment_update(obj: Object, old: Object) -> Rules:
    yield from deployment(obj)
    yield from _selector_change(obj, old)


def deployment_status(obj: Object, old: Object) -> Rules:
    of_replicas = ("updatedReplicas", "readyReplicas", "availableReplicas")
    fields = ("observedGeneration", "replicas", *of_replicas, "unavailableReplicas", "terminatingReplicas")
    yield from _counts(obj.get("status") or {}, (*fields, "collisionCount"), of_replicas)
    yield from _collisions(obj, old)


# Replica sets and replication controllers -----------------------------------------------------------------------------


def replica_set(obj: Object) -> Rules:
    spec = obj["spec"]
    yield from nonnegative(spec["replicas"], _SPEC.child("replicas"))
    yield from nonnegative(spec.get("minReadySeconds", 0), _SPEC.child("minReadySeconds"))
    yield from _selector(spec, "deployment")
    yield from _replicated_template(spec)


def replica_set_update(obj: Object, old: Object) -> Rules:
    yield from replica_set(obj)
    yield from _selector_change(obj, old)


def replica_set_status(obj: Object, old: Object) -> Rules:
    of_replicas = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    yield from _counts(obj.get("status") or {}, ("replicas", *of_replicas, "observedGeneration"), of_replicas)


def replication_controller(obj: Object) -> Rules:
    spec = obj["spec"]
    yield from nonnegative(spec.get("minReadySeconds", 0), _SPEC.child("minReadySeconds"))
    selector, template, path = spec.get("selector"), spec.get("template"), _SPEC.child("template")
    if not selector:
        yield FieldError.required(_SPEC.child("selector"))
    yield from nonnegative(spec.get("replicas", 0), _SPEC.child("replicas"))
    if template is None:
        yield FieldError.required(path)
        return
    yield from selected_template({"matchLabels": selector or {}}, template, path)
    yield from pod_template(template, path)
    yield from _always_restarted(template, path, "ReplicationController")


def replication_controller_update(obj: Object, old: Object) -> Rules:
    return replication_controller(obj)


# Stateful sets --------------------------------------------------------------------------------------------------------


def stateful_set(obj: Object) -> Rules:
    return _stateful_set(obj["spec"], is_new=True)


def _stateful_set(spec: Object, *, is_new: bool) -> Rules:
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        yield FieldError.invalid(_SPEC.child("podManagementPolicy"), policy, detail)
    yield from _stateful_strategy(spec["updateStrategy"], _SPEC.child("updateStrategy"))
    retention = spec["persistentVolumeClaimRetentionPolicy"]
    for field in ("whenDeleted", "whenScaled"):
        if retention.get(field) not in ("Retain", "Delete"):
            at = _SPEC.child("persistentVolumeClaimRetentionPolicy", field)
            yield FieldError.not_supported(at, retention.get(field), ("Retain", "Delete"))
    if is_new:
        for position, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            yield from claim_spec(claim["spec"], _SPEC.child("volumeClaimTemplates").index(position).child("spec"))
    yield from nonnegative(spec["replicas"], _SPEC.child("replicas"))
    yield from nonnegative(spec.get("minReadySeconds", 0), _SPEC.child("minReadySeconds"))
    yield from nonnegative((spec.get("ordinals") or {}).get("start", 0), _SPEC.child("ordinals.start"))
    if is_new and spec.get("serviceName"):
        yield from dns_label(spec["serviceName"], _SPEC.child("serviceName"))
    yield from _selector(spec, "statefulset")
    template, path = _with_claims(spec), _SPEC.child("template")
    yield from selected_template(spec.get("selector"), template, path)
    yield from pod_template(template, path)
    yield from _always_restarted(template, path, "StatefulSet")


def _with_claims(spec: Object) -> Object:
    """The template as its pods will be: with a volume for each claim."""
    claims = {claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()}
    template = spec["template"]
    inner = {key: value for key, value in template["spec"].items() if key not in ("subdomain", "hostname")}
    if claims:
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in sorted(claims)]
        inner["volumes"] = made + [one for one in inner.get("volumes") or () if one["name"] not in claims]
    return {**template, "spec": inner}


def _rolling(rolling: Object | None, *fields: str) -> Any:
    """How Go writes the settings of a rolling update."""
    if rolling is None:
        return None
    found = {field: rolling.get(field) for field in fields or ("maxUnavailable", "maxSurge")}
    return struct(**{field[0].upper() + field[1:]: value for field, value in found.items()})


def _stateful_strategy(strategy: Object, path: Path) -> Rules:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            yield FieldError.invalid(
                path.child("rollingUpdate"), _rolling(rolling, "partition", "maxUnavailable"), detail
            )
    elif kind == "RollingUpdate":
        if rolling is not None:
            yield from nonnegative(rolling.get("partition", 0), path.child("rollingUpdate", "partition"))
            unavailable = rolling.get("maxUnavailable")
            if unavailable is not None:
                at = path.child("rollingUpdate", "maxUnavailable")
                yield from number_or_percent(unavailable, at)
                if _amount(unavailable) == 0:
                    yield FieldError.invalid(at, unavailable, "cannot be 0")
                yield from _not_more_than_all(unavailable, at)
    else:
        shown = struct(Type=kind, RollingUpdate=_rolling(rolling))
        yield FieldError.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")


def stateful_set_update(obj: Object, old: Object) -> Rules:
    yield from _stateful_set(obj["spec"], is_new=False)
    new, before = (_without(side["spec"], _STATEFUL_FIELDS) for side in (obj, old))
    if new != before:
        named = "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
        named += "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'"
        detail = f"updates to statefulset spec for fields other than {named} are forbidden"
        yield FieldError.forbidden(_SPEC, detail)


def _without(values: Object, names: tuple[str, ...]) -> Object:
    return {key: value for key, value in values.items() if key not in names}


def stateful_set_status(obj: Object, old: Object) -> Rules:
    of_replicas = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    fields = ("replicas", *of_replicas, "observedGeneration", "collisionCount")
    yield from _counts(obj.get("status") or {}, fields, of_replicas, "status.readyReplicas")
    yield from _collisions(obj, old)


# Daemon sets ----------------------------------------------------------------------------------------------------------


def daemon_set(obj: Object) -> Rules:
    spec, path = obj["spec"], _SPEC.child("template")
    selector = spec.get("selector")
    yield from label_selector(selector, _SPEC.child("selector"))
    yield from selected_template(selector, spec["template"], path, empty_matches=False)
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield FieldError.invalid(
            _SPEC.child("selector"), selector_value(selector), "empty selector is invalid for daemonset"
        )
    yield from pod_template(spec["template"], path)
    yield from _always_restarted(spec["template"], path, "DaemonSet")
    yield from nonnegative(spec.get("minReadySeconds", 0), _SPEC.child("minReadySeconds"))
    yield from _daemon_strategy(spec["updateStrategy"], _SPEC.child("updateStrategy"))
    yield from nonnegative(spec["revisionHistoryLimit"], _SPEC.child("revisionHistoryLimit"))


def _daemon_strategy(strategy: Object, path: Path) -> Rules:
    kind = strategy.get("type")
    rolling: Any = strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        shown = struct(Type=kind, RollingUpdate=_rolling(rolling))
        yield FieldError.not_supported(path, shown, ("RollingUpdate", "OnDelete"))
        return
    at = path.child("rollingUpdate")
    for rule in (number_or_percent, _not_more_than_all):
        for field in ("maxUnavailable", "maxSurge"):
            yield from rule(rolling[field], at.child(field))
    unavailable, surge = _amount(rolling["maxUnavailable"]), _amount(rolling["maxSurge"])
    if unavailable and surge:
        detail = "may not be set when maxUnavailable is non-zero"
        yield FieldError.invalid(at.child("maxSurge"), rolling["maxSurge"], detail)
    elif not unavailable and not surge:
        yield FieldError.required(at.child("maxUnavailable"), "cannot be 0 when maxSurge is 0")


def daemon_set_update(obj: Object, old: Object) -> Rules:
    yield from _selector_change(obj, old)
    yield from daemon_set(obj)


def daemon_set_status(obj: Object, old: Object) -> Rules:
    fields = (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
    for field in fields:
        yield from nonnegative((obj.get("status") or {}).get(field, 0), _STATUS.child(field))
    yield from _collisions(obj, old)


# Others ---------------------------------------------------------------------------------------------------------------


def controller_revision(obj: Object) -> Rules:
    yield from nonnegative(obj.get("revision", 0), Path("revision"))
    data: Any = obj.get("data")
    if data is None:
        yield FieldError.required("data", "data is mandatory")
    elif not isinstance(data, dict):
        yield FieldError.required("data", "data must be a valid JSON object")


def controller_revision_update(obj: Object, old: Object) -> Rules:
    yield from nonnegative(obj.get("revision", 0), Path("revision"))
    if obj.get("data") != old.get("data"):
        yield FieldError.invalid("data", obj.get("data"), IMMUTABLE)


def pod_template_object(obj: Object) -> Rules:
    return pod_template(obj["template"], Path("template"))


pod_template_object_update: Callable[[Object, Object], Rules] = lambda obj, old: pod_template_object(obj)  # noqa: E731
