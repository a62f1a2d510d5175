"""Jobs and cron jobs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zoneinfo import available_timezones

from kapstan.apiserver.strategy.validation.apps import selected_template
from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    immutable,
    label_selector,
    labels,
    nonnegative,
    one_of,
    prefixed_path,
    qualified_name,
    selector_value,
    struct,
)
from kapstan.apiserver.strategy.validation.cron import schedule_error
from kapstan.apiserver.strategy.validation.pods import pod_template
from kapstan.apiserver.strategy.validation.success import success_policy
from kapstan.machinery import labels as selectors
from kapstan.machinery.golang import Rendered
from kapstan.machinery.names import dns1123_label_errors
from kapstan.machinery.validation import OMITTED, FieldError, Path

__all__ = ("cron_job", "cron_job_update", "job", "job_status", "job_update")

_SPEC = Path("spec")
_STATUS = Path("status")
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_MAX_INDEXED = 100_000
_MAX_MANAGER = 63
_PREFIX = "batch.kubernetes.io/"
_ZONE_PART = re.compile(r"[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}")


def job(obj: Object) -> Rules:
    yield from _generated_selector(obj)
    yield from job_spec(obj["spec"], _SPEC)
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    if spec.get("completionMode") == "Indexed" and spec.get("completions", 0) > 0:
        host = f"{name}-{spec['completions'] - 1}"
        if dns1123_label_errors(host):
            detail = f"will not able to create pod with invalid DNS label: {host}"
            yield FieldError.invalid("metadata.name", name, detail)


def _generated_selector(obj: Object) -> Rules:
    """Unless a job selects its pods itself, they carry its name and uid."""
    spec, metadata = obj["spec"], obj["metadata"]
    if spec.get("manualSelector"):
        return
    expected = {
        "controller-uid": metadata["uid"],
        "job-name": metadata.get("name", ""),
        f"{_PREFIX}controller-uid": metadata["uid"],
        f"{_PREFIX}job-name": metadata.get("name", ""),
    }
    found = spec["template"]["metadata"].get("labels") or {}
    for key, value in expected.items():
        at = Path("spec", "template", "metadata", "labels").key(key)
        if key not in found:
            yield FieldError.required(at, f"must be '{value}'")
        if found.get(key) != value:
            yield FieldError.invalid(at, found, f"must be '{value}'")
    try:
        if not selectors.from_label_selector(spec.get("selector")).matches(expected):
            yield FieldError.invalid(
                _SPEC.child("selector"), selector_value(spec.get("selector")), "`selector` not auto-generated"
            )
    except selectors.InvalidSelector:
        return


def job_spec(spec: Object, path: Path) -> Rules:
    yield from _job_template_spec(spec, path)
    selector = spec.get("selector")
    if selector is None:
        yield FieldError.required(path.child("selector"))
    else:
        yield from label_selector(selector, path.child("selector"))
    yield from selected_template(selector, spec["template"], path.child("template"), empty_matches=False)


def _job_template_spec(spec: Object, path: Path) -> Rules:
    fields = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    for field in (*fields, "backoffLimitPerIndex", "maxFailedIndexes"):
        if spec.get(field) is not None:
            yield from nonnegative(spec[field], path.child(field))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield FieldError.required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
    if spec.get("managedBy") is not None:
        yield from prefixed_path(spec["managedBy"], path.child("managedBy"))
        if len(spec["managedBy"].encode()) > _MAX_MANAGER:
            yield FieldError.too_long(path.child("managedBy"), _MAX_MANAGER)
    yield from _completion_mode(spec, path)
    if spec.get("podFailurePolicy") is not None:
        yield from _failure_policy(spec, path.child("podFailurePolicy"))
    if spec.get("successPolicy") is not None and spec.get("completionMode") == "Indexed":
        completions = spec.get("completions", 0)
        yield from success_policy(spec["successPolicy"], completions, path.child("successPolicy"))
    elif spec.get("successPolicy") is not None:
        detail = "requires indexed completion mode"
        shown = struct(Rules=[_success_rule(rule) for rule in spec["successPolicy"].get("rules") or ()])
        yield FieldError.invalid(path.child("successPolicy"), shown, detail)
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        values = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
        yield from one_of(replacement, path.child("podReplacementPolicy"), values)
    yield from pod_template(spec["template"], path.child("template"))
    yield from _restart_policy(spec, path.child("template", "spec", "restartPolicy"))


def _completion_mode(spec: Object, path: Path) -> Rules:
    mode, completions, parallelism = spec.get("completionMode"), spec.get("completions"), spec.get("parallelism")
    failed = spec.get("maxFailedIndexes")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        yield FieldError.not_supported(path.child("completionMode"), mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        if completions is None:
            yield FieldError.required(path.child("completions"), "when completion mode is Indexed")
        if parallelism is not None and parallelism > _MAX_INDEXED:
            detail = f"must be less than or equal to {_MAX_INDEXED} when completion mode is Indexed"
            yield FieldError.invalid(path.child("parallelism"), parallelism, detail)
        if completions is not None and failed is not None and failed > completions:
            yield FieldError.invalid(
                path.child("maxFailedIndexes"), failed, "must be less than or equal to completions"
            )
    elif mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(field) is not None:
                yield FieldError.invalid(path.child(field), spec[field], "requires indexed completion mode")


def _success_rule(rule: Object) -> Rendered:
    return struct(SucceededIndexes=rule.get("succeededIndexes"), SucceededCount=rule.get("succeededCount"))


def _restart_policy(spec: Object, path: Path) -> Rules:
    policy = spec["template"]["spec"].get("restartPolicy")
    if policy in (None, "Always"):
        yield FieldError.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield FieldError.not_supported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        yield FieldError.invalid(path, policy, detail)


def _failure_policy(spec: Object, path: Path) -> Rules:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > 20:
        yield FieldError.too_many(path.child("rules"), len(rules), 20)
    template = spec["template"]["spec"]
    names = {one["name"] for field in ("containers", "initContainers") for one in template.get(field) or ()}
    for position, rule in enumerate(rules):
        at = path.child("rules").index(position)
        yield from _failure_action(rule.get("action", ""), spec, at.child("action"))
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            yield from _exit_codes(codes, names, at.child("onExitCodes"))
        for index, pattern in enumerate(conditions):
            here = at.child("onPodConditions").index(index)
            yield from qualified_name(pattern.get("type", ""), here.child("type"))
            yield from one_of(pattern.get("status"), here.child("status"), ("False", "True", "Unknown"))
        if codes is not None and conditions:
            detail = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield FieldError.invalid(at, OMITTED, detail)
        if codes is None and not conditions:
            detail = "specifying one of OnExitCodes and OnPodConditions is required"
            yield FieldError.invalid(at, OMITTED, detail)


def _failure_action(action: str, spec: Object, path: Path) -> Rules:
    if not action:
        yield FieldError.required(path, 'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]')
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            yield FieldError.invalid(path, action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield FieldError.not_supported(path, action, _ACTIONS)


def _exit_codes(codes: Object, names: set[str], path: Path) -> Rules:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        yield FieldError.required(path.child("operator"), 'valid values: ["In" "NotIn"]')
    elif operator not in ("In", "NotIn"):
        yield FieldError.not_supported(path.child("operator"), operator, ("In", "NotIn"))
    name = codes.get("containerName")
    if name is not None and name not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield FieldError.invalid(path.child("containerName"), name, detail)
    at = path.child("values")
    if not values:
        yield FieldError.invalid(at, values, "at least one value is required")
    elif len(values) > 255:
        yield FieldError.too_many(at, len(values), 255)
    yield from _exit_code_values(values, operator, at)


def _exit_code_values(values: Sequence[int], operator: str, path: Path) -> Rules:
    ordered, unique = True, True
    for position, value in enumerate(values):
        if operator == "In" and value == 0:
            yield FieldError.invalid(path.index(position), value, "must not be 0 for the In operator")
        if position:
            unique = unique and value != values[position - 1]
            ordered = ordered and value >= values[position - 1]
    if not ordered:
        yield FieldError.invalid(path, values, "must be ordered")
    if not unique:
        yield FieldError.duplicate(path, values)


def job_update(obj: Object, old: Object) -> Rules:
    spec, before = obj["spec"], old["spec"]
    yield from job_spec(spec, _SPEC)
    yield from _completions_change(spec, before)
    yield from immutable(spec.get("selector"), before.get("selector"), _SPEC.child("selector"))
    suspended = before.get("suspend") and not (old.get("status") or {}).get("active")
    status = old.get("status") or {}
    was_suspended = any(
        one["type"] == "Suspended" and one["status"] == "True" for one in status.get("conditions") or ()
    )
    if suspended and (not status.get("startTime") or was_suspended):
        new, previous = (_settled_template(side["template"]) for side in (spec, before))
        yield from immutable(new, previous, _SPEC.child("template.spec"))
    else:
        yield from immutable(spec["template"], before["template"], _SPEC.child("template"))
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        yield from immutable(spec.get(field), before.get(field), _SPEC.child(field))


def _completions_change(spec: Object, before: Object) -> Rules:
    """An indexed job may be made longer or shorter, as long as it is as wide as long."""
    new, old = spec.get("completions"), before.get("completions")
    if new == old:
        return
    path = _SPEC.child("completions")
    if spec.get("completionMode") != "Indexed":
        yield from immutable(new, old, path)
    elif new is None or old is None or new != spec.get("parallelism") or old != before.get("parallelism"):
        yield FieldError.invalid(path, new, "can only be modified in tandem with .spec.parallelism")


def _settled_template(template: Object) -> Object:
    """What of a suspended job's template may not change: where its pods run and what they get may."""
    spec = {
        key: value
        for key, value in template["spec"].items()
        if key not in ("nodeSelector", "tolerations", "schedulingGates", "affinity")
    }
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [{**one, "resources": {}} for one in spec[field]]
    return spec


def job_status(obj: Object, old: Object) -> Rules:
    new, before = obj.get("status") or {}, old.get("status") or {}
    for field in ("active", "succeeded", "failed", "ready", "terminating"):
        if new.get(field) is not None:
            yield from nonnegative(new[field], _STATUS.child(field))
    for condition in ("Failed", "Complete", "FailureTarget"):
        if _is_true(before, condition) and not _is_true(new, condition):
            detail = f"cannot disable the terminal {condition}=True condition"
            yield FieldError.invalid(_STATUS.child("conditions"), OMITTED, detail)
    if _is_true(new, "Complete") and _is_true(new, "Failed"):
        detail = "cannot set Complete=True and Failed=true conditions"
        yield FieldError.invalid(_STATUS.child("conditions"), OMITTED, detail)


def _is_true(status: Object, type: str) -> bool:
    return any(one["type"] == type and one.get("status") == "True" for one in status.get("conditions") or ())


# Cron jobs ------------------------------------------------------------------------------------------------------------


def cron_job(obj: Object) -> Rules:
    yield from _cron_spec(obj["spec"], None)
    if len(name := obj["metadata"].get("name", "")) > 52:
        yield FieldError.invalid("metadata.name", name, "must be no more than 52 characters")


def cron_job_update(obj: Object, old: Object) -> Rules:
    return _cron_spec(obj["spec"], old["spec"])


def _cron_spec(spec: Object, before: Object | None) -> Rules:
    schedule, zone = spec.get("schedule", ""), spec.get("timeZone")
    if not schedule:
        yield FieldError.required(_SPEC.child("schedule"))
    else:
        yield from _schedule(schedule, zone, before)
    for field in ("startingDeadlineSeconds",):
        if spec.get(field) is not None:
            yield from nonnegative(spec[field], _SPEC.child(field))
    if before is None or before.get("timeZone") != zone:
        yield from _time_zone(zone, _SPEC.child("timeZone"))
    policies = ("Allow", "Forbid", "Replace")
    yield from one_of(spec.get("concurrencyPolicy"), _SPEC.child("concurrencyPolicy"), policies)
    yield from _job_template(spec["jobTemplate"], _SPEC.child("jobTemplate"))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from nonnegative(spec[field], _SPEC.child(field))


def _schedule(schedule: str, zone: str | None, before: Object | None) -> Rules:
    path = _SPEC.child("schedule")
    if error := schedule_error(schedule):
        yield FieldError.invalid(path, schedule, error)
    if "TZ" not in schedule:
        return
    if before is None or "TZ" not in before.get("schedule", ""):
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield FieldError.invalid(path, schedule, detail)
    elif zone is not None:
        detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield FieldError.invalid(path, schedule, detail)


def _time_zone(zone: str | None, path: Path) -> Rules:
    if zone is None:
        return
    if not zone:
        yield FieldError.invalid(path, zone, "timeZone must be nil or non-empty string")
    elif any(part in (".", "..") or not _ZONE_PART.fullmatch(part) for part in zone.split("/")):
        yield FieldError.invalid(path, zone, f"unknown time zone {zone}")
    elif zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield FieldError.invalid(path, zone, detail)
    elif zone not in available_timezones() and zone != "UTC":
        yield FieldError.invalid(path, zone, f"unknown time zone {zone}")


def _job_template(template: Object, path: Path) -> Rules:
    yield from labels((template.get("metadata") or {}).get("labels"), path.child("metadata", "labels"))
    spec, at = template["spec"], path.child("spec")
    yield from _job_template_spec(spec, at)
    if spec.get("selector") is not None:
        yield from label_selector(spec["selector"], at.child("selector"))
    if spec.get("manualSelector"):
        yield FieldError.not_supported(at.child("manualSelector"), True, ("nil", "false"))
