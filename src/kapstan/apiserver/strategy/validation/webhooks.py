"""Webhook configurations, and what they share with admission policies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    label_selector,
    path_segment,
    qualified_name,
    range_error,
)
from kapstan.apiserver.strategy.validation.slices import full_domain_name
from kapstan.machinery.names import dns1035_label_errors, dns1123_subdomain_errors
from kapstan.machinery.validation import FieldError, Path

if TYPE_CHECKING:
    from kapstan.apiserver.admission.expressions import Compiled

__all__ = (
    "compiles",
    "match_conditions",
    "match_resources",
    "mutating_configuration",
    "mutating_configuration_update",
    "validating_configuration",
    "validating_configuration_update",
)

_REVIEW_VERSIONS = ("v1", "v1beta1")
_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_FORM = "; desired format: https://host[/path]"


def validating_configuration(obj: Object) -> Rules:
    return _configuration(obj, None, mutating=False)


def validating_configuration_update(obj: Object, old: Object) -> Rules:
    return _configuration(obj, old, mutating=False)


def mutating_configuration(obj: Object) -> Rules:
    return _configuration(obj, None, mutating=True)


def mutating_configuration_update(obj: Object, old: Object) -> Rules:
    return _configuration(obj, old, mutating=True)


def _configuration(obj: Object, old: Object | None, *, mutating: bool) -> Rules:
    """Old configurations may have faults that newer servers refuse; they are let be."""
    before: Sequence[Object] = (old or {}).get("webhooks") or ()
    side_effects: Sequence[str] = _NO_SIDE_EFFECTS
    if any(hook.get("sideEffects") not in _NO_SIDE_EFFECTS for hook in before):
        side_effects = _SIDE_EFFECTS
    known = all(set(hook.get("admissionReviewVersions") or _REVIEW_VERSIONS) & {"v1", "v1beta1"} for hook in before)
    unique = len({hook["name"] for hook in before}) == len(before)
    names: set[str] = set()
    for position, hook in enumerate(obj.get("webhooks") or ()):
        at, name = Path("webhooks").index(position), hook.get("name", "")
        yield from _hook(hook, at, side_effects, mutating=mutating)
        yield from _review_versions(hook, at.child("admissionReviewVersions"), must_be_known=known)
        if unique and name:
            if name in names:
                yield FieldError.duplicate(at.child("name"), name)
            names.add(name)


def _hook(hook: Object, path: Path, side_effects: Sequence[str], *, mutating: bool) -> Rules:
    yield from full_domain_name(hook.get("name", ""), path.child("name"), segments=3)
    for position, rule in enumerate(hook.get("rules") or ()):
        yield from _rule(rule, path.child("rules").index(position))
    yield from _supported(hook, "failurePolicy", ("Fail", "Ignore"), path)
    yield from _supported(hook, "matchPolicy", ("Equivalent", "Exact"), path)
    if hook.get("sideEffects") is None:
        detail = "must specify one of " + ", ".join(side_effects)
        yield FieldError.required(path.child("sideEffects"), detail)
    yield from _supported(hook, "sideEffects", side_effects, path)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        yield FieldError.invalid(path.child("timeoutSeconds"), seconds, detail)
    for field in ("namespaceSelector", "objectSelector"):
        yield from label_selector(hook.get(field), path.child(field))
    if mutating:
        yield from _supported(hook, "reinvocationPolicy", ("IfNeeded", "Never"), path)
    yield from _client(hook["clientConfig"], path.child("clientConfig"))
    yield from match_conditions(hook.get("matchConditions") or (), path.child("matchConditions"))


def _supported(holder: Object, field: str, supported: Sequence[str], path: Path) -> Rules:
    value = holder.get(field)
    if value is not None and value not in supported:
        yield FieldError.not_supported(path.child(field), value, supported)


def _review_versions(hook: Object, path: Path, *, must_be_known: bool) -> Rules:
    versions = hook.get("admissionReviewVersions") or []
    if not versions:
        yield FieldError.required(path, "must specify one of " + ", ".join(_REVIEW_VERSIONS))
        return
    seen: set[str] = set()
    for position, version in enumerate(versions):
        if version in seen:
            yield FieldError.invalid(path.index(position), version, "duplicate version")
            continue
        seen.add(version)
        for complaint in dns1035_label_errors(version):
            yield FieldError.invalid(path.index(position), version, complaint)
    if must_be_known and not seen & set(_REVIEW_VERSIONS):
        yield FieldError.invalid(path, versions, "must include at least one of " + ", ".join(_REVIEW_VERSIONS))


# Rules ----------------------------------------------------------------------------------------------------------------


def _rule(rule: Object, path: Path) -> Rules:
    operations, at = rule.get("operations") or [], path.child("operations")
    yield from _alone(operations, at, "operations")
    for position, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield FieldError.not_supported(at.index(position), operation, _OPERATIONS)
    yield from _alone(rule.get("apiGroups") or [], path.child("apiGroups"), "API groups")
    versions = rule.get("apiVersions") or []
    yield from _alone(versions, path.child("apiVersions"), "API versions")
    for position, version in enumerate(versions):
        if not version:
            yield FieldError.required(path.child("apiVersions").index(position))
    yield from _resources(rule.get("resources") or [], path.child("resources"))
    yield from _supported(rule, "scope", ("*", "Cluster", "Namespaced"), path)


def _alone(values: Sequence[str], path: Path, words: str) -> Rules:
    """There must be some; a star for all must be the only one."""
    if not values:
        yield FieldError.required(path)
    if len(values) > 1 and "*" in values:
        yield FieldError.invalid(path, values, f"if '*' is present, must not specify other {words}")


def _resources(resources: Sequence[str], path: Path) -> Rules:
    if not resources:
        yield FieldError.required(path)
    whole: set[str] = set()  # resources of which all subresources are meant
    everywhere: set[str] = set()  # subresources that are meant of all resources
    plain = False
    for position, text in enumerate(resources):
        at = path.index(position)
        resource, slash, sub = text.partition("/")
        if not text:
            yield FieldError.required(at)
            continue
        if not slash:
            plain = text != "*"
            continue
        if resource in whole:
            yield FieldError.invalid(at, text, f"if '{resource}/*' is present, must not specify {text}")
        if sub in everywhere:
            yield FieldError.invalid(at, text, f"if '*/{sub}' is present, must not specify {text}")
        if sub == "*":
            whole.add(resource)
        if resource == "*":
            everywhere.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        yield FieldError.invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        yield FieldError.invalid(path, resources, detail)


def match_resources(match: Object | None, path: Path) -> Rules:
    """What an admission policy applies to."""
    if match is None:
        return
    if match.get("matchPolicy") is None:
        yield FieldError.required(path.child("matchPolicy"))
    yield from _supported(match, "matchPolicy", ("Equivalent", "Exact"), path)
    for field in ("namespaceSelector", "objectSelector"):
        if match.get(field) is None:
            yield FieldError.required(path.child(field))
        yield from label_selector(match.get(field), path.child(field))
    for field in ("resourceRules", "excludeResourceRules"):
        for position, rule in enumerate(match.get(field) or ()):
            at, seen = path.child(field).index(position), set[str]()
            for index, name in enumerate(rule.get("resourceNames") or ()):
                yield from path_segment(name, at.child("resourceNames").index(index))
                if name in seen:
                    yield FieldError.duplicate(at.child("resourceNames").index(index), name)
                seen.add(name)
            yield from _rule(rule, at)


# Conditions -----------------------------------------------------------------------------------------------------------


def match_conditions(found: Sequence[Object], path: Path, *, params: bool = False) -> Rules:
    if not found:
        return
    from kapstan.apiserver.admission.webhook.evaluation import compile_condition

    names: set[str] = set()
    if len(found) > 64:
        yield FieldError.too_many(path, len(found), 64)
    for position, condition in enumerate(found):
        at, name, expression = path.index(position), condition.get("name", ""), condition.get("expression", "").strip()
        if not expression:
            yield FieldError.required(at.child("expression"))
        else:
            yield from compiles(compile_condition(expression, params=params), at.child("expression"))
        if not name:
            yield FieldError.required(at.child("name"))
            continue
        yield from qualified_name(name, at.child("name"))
        if name in names:
            yield FieldError.duplicate(at.child("name"), name)
        names.add(name)


def compiles(compiled: Compiled, path: Path) -> Rules:
    """What is wrong with an expression."""
    if compiled.internal:
        yield FieldError.internal(path, compiled.error)
    elif compiled.error:
        yield FieldError.invalid(path, compiled.expression, compiled.error)


# Clients --------------------------------------------------------------------------------------------------------------


def _client(config: Object, path: Path) -> Rules:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield FieldError.required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, path.child("url"))
    else:
        yield from _service(service or {}, path.child("service"))


def _url(text: str, path: Path) -> Rules:
    try:
        url = urlsplit(text)
        user, bar, host = url.netloc.rpartition("@")
    except ValueError as error:
        yield FieldError.required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if url.scheme != "https":
        yield FieldError.invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        yield FieldError.invalid(path, "", f"host must be specified{_FORM}")
    if bar:
        yield FieldError.invalid(path, user, "user information is not permitted in the URL")
    if url.fragment:
        yield FieldError.invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield FieldError.invalid(path, url.query, "query parameters are not permitted in the URL")


def _service(service: Object, path: Path) -> Rules:
    for field in ("namespace", "name"):  # Kubernetes takes the one for the other here
        if not service.get(field):
            yield FieldError.required(path.child("name" if field == "namespace" else "namespace"))
    port = service.get("port", 0)
    if not 1 <= port <= 65535:
        yield FieldError.invalid(path.child("port"), port, f"port is not valid: {range_error(1, 65535)}")
    where, at = service.get("path") or "/", path.child("path")
    if where == "//":
        yield FieldError.invalid(at, where, "segment[0] may not be empty")
    elif where != "/":
        if not where.startswith("/"):
            yield FieldError.invalid(at, where, "must start with a '/'")
        yield from _segments(where[1:].removesuffix("/").split("/"), where, at)


def _segments(segments: Iterable[str], where: str, path: Path) -> Rules:
    for position, segment in enumerate(segments):
        if not segment:
            yield FieldError.invalid(path, where, f"segment[{position}] may not be empty")
        for complaint in dns1123_subdomain_errors(segment) if segment else ():
            yield FieldError.invalid(path, where, f"segment[{position}]: {complaint}")
