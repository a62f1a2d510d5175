"""Restricted: what pods have to give up explicitly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapstan.apiserver.admission.podsecurity.baseline import seccomp
from kapstan.apiserver.admission.podsecurity.pod import Pod, Violation, containers, plural, quoted, setters

__all__ = (
    "capabilities",
    "not_on_windows",
    "privilege_escalation",
    "run_as_non_root",
    "run_as_user",
    "seccomp_required",
    "unless_own_users",
    "volumes",
)

Object = dict[str, Any]
Found = Violation | None

_VOLUMES = frozenset(
    (
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    )
)


def not_on_windows(check: Callable[[Pod], Found]) -> Callable[[Pod], Found]:
    return lambda pod: None if pod.is_windows else check(pod)


def unless_own_users(check: Callable[[Pod], Found]) -> Callable[[Pod], Found]:
    return lambda pod: None if pod.has_own_users else check(pod)


def privilege_escalation(pod: Pod) -> Found:
    bad = pod.offending(lambda security: security.get("allowPrivilegeEscalation") is not False)
    detail = f"{containers(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail) if bad else None


def capabilities(pod: Pod) -> Found:
    def of(security: Object, part: str) -> list[str]:
        return (security.get("capabilities") or {}).get(part) or []

    def added(security: Object) -> set[str]:
        return set(of(security, "add")) - {"NET_BIND_SERVICE"}

    keeping = pod.offending(lambda security: "ALL" not in of(security, "drop"))
    adding = pod.offending(lambda security: bool(added(security)))
    every = sorted(set().union(*(added(security) for _, _, security in pod.containers())))
    details = []
    if keeping:
        details.append(f'{containers(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        details.append(f"{containers(adding)} must not include {quoted(every)} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def volumes(pod: Pod) -> Found:
    bad: list[str] = []
    types: set[str] = set()
    for volume in pod.volumes:
        sources = [key for key, value in volume.items() if key != "name" and value is not None]
        if not _VOLUMES.intersection(sources):
            bad.append(volume["name"])
            types.add(sources[0] if sources else "unknown")
    kinds = f"{plural('restricted volume type', types)} {quoted(sorted(types))}"
    detail = f"{plural('volume', bad)} {quoted(bad)} {plural('uses', bad, 'use')} {kinds}"
    return Violation("restricted volume types", detail) if bad else None


def run_as_non_root(pod: Pod) -> Found:
    asked = pod.security.get("runAsNonRoot")
    by = setters(asked is False, pod.offending(lambda security: security.get("runAsNonRoot") is False))
    if by:
        return Violation("runAsNonRoot != true", f"{by} must not set securityContext.runAsNonRoot=false")
    silent = [] if asked else pod.offending(lambda security: security.get("runAsNonRoot") is None)
    detail = f"pod or {containers(silent)} must set securityContext.runAsNonRoot=true"
    return Violation("runAsNonRoot != true", detail) if silent else None


def run_as_user(pod: Pod) -> Found:
    bad = pod.offending(lambda security: security.get("runAsUser") == 0)
    by = setters(pod.security.get("runAsUser") == 0, bad)
    return Violation("runAsUser=0", f"{by} must not set runAsUser=0") if by else None


def seccomp_required(pod: Pod) -> Found:
    wrong = seccomp(pod)
    if wrong is not None:
        return wrong
    if pod.security.get("seccompProfile") is not None:
        return None
    silent = pod.offending(lambda security: security.get("seccompProfile") is None)
    types = '"RuntimeDefault" or "Localhost"'
    detail = f"pod or {containers(silent)} must set securityContext.seccompProfile.type to {types}"
    return Violation("seccompProfile", detail) if silent else None
