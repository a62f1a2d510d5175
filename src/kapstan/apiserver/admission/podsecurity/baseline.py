"""Baseline: what ordinary pods never need, and what would let them out of their confinement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kapstan.apiserver.admission.podsecurity.pod import Pod, Violation, containers, plural, quoted, setters
from kapstan.machinery.golang import quote

__all__ = (
    "app_armor",
    "capabilities",
    "host_namespaces",
    "host_path_volumes",
    "host_ports",
    "privileged",
    "probe_hosts",
    "proc_mount",
    "proc_mount_unless_own_users",
    "seccomp",
    "seccomp_annotations",
    "selinux",
    "sysctls",
    "windows_host_process",
)

Object = dict[str, Any]
Found = Violation | None

_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)
_APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES = ("RuntimeDefault", "Localhost")


def app_armor(pod: Pod) -> Found:
    bad, values = _profiles(pod, "appArmorProfile")
    pod_is_bad = _profile(pod.security, "appArmorProfile") is not None
    by = [setters(pod_is_bad, bad)] if pod_is_bad or bad else []
    annotations = sorted(
        f"{key}={quote(value)}"
        for key, value in pod.annotations.items()
        if key.startswith(_APP_ARMOR_ANNOTATION)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    if annotations:
        values = [*values, *annotations]
        by.append(plural("annotation", annotations))
    if not by:
        return None
    detail = f"{' and '.join(by)} must not set AppArmor profile type to {quoted(values)}"
    return Violation(plural("forbidden AppArmor profile", values), detail)


def _profile(security: Object, field: str) -> str | None:
    """A type of profile that is not allowed."""
    profile = security.get(field)
    if profile is None or profile.get("type") in _PROFILES:
        return None
    return str(profile.get("type") or "")


def _profiles(pod: Pod, field: str) -> tuple[list[str], list[str]]:
    """The containers with profiles that are not allowed, and these, the pod's included."""
    bad = pod.offending(lambda security: _profile(security, field) is not None)
    every = [pod.security, *(security for _, _, security in pod.containers())]
    return bad, sorted({found for security in every if (found := _profile(security, field)) is not None})


def capabilities(pod: Pod) -> Found:
    def added(security: Object) -> set[str]:
        return set((security.get("capabilities") or {}).get("add") or ()) - _CAPABILITIES

    bad = pod.offending(lambda security: bool(added(security)))
    every = sorted(set().union(*(added(security) for _, _, security in pod.containers())))
    detail = f"{containers(bad)} must not include {quoted(every)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail) if bad else None


def host_namespaces(pod: Pod) -> Found:
    used = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(field)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def host_path_volumes(pod: Pod) -> Found:
    names = [volume["name"] for volume in pod.volumes if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", f"{plural('volume', names)} {quoted(names)}") if names else None


def host_ports(pod: Pod) -> Found:
    bad, ports = [], set()
    for name, container, _ in pod.containers():
        used = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        bad += [name] if used else []
        ports |= used
    listed = f"{plural('hostPort', ports)} {', '.join(sorted(ports))}"
    return Violation("hostPort", f"{containers(bad)} {plural('uses', bad, 'use')} {listed}") if bad else None


def probe_hosts(pod: Pod) -> Found:
    found = {name: set(_hosts(container)) for name, container, _ in pod.containers()}
    bad, hosts = sorted(name for name in found if found[name]), sorted(set().union(*found.values()))
    listed = f"{plural('probe or lifecycle host', hosts)} {quoted(hosts)}"
    detail = f"{containers(bad)} {plural('uses', bad, 'use')} {listed}"
    return Violation("probe or lifecycle host", detail) if bad else None


def _hosts(container: Object) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    probes = [container.get(field) for field in ("livenessProbe", "readinessProbe", "startupProbe")]
    for handler in (*probes, lifecycle.get("postStart"), lifecycle.get("preStop")):
        for action in ("httpGet", "tcpSocket"):
            if host := ((handler or {}).get(action) or {}).get("host"):
                yield host


def privileged(pod: Pod) -> Found:
    bad = pod.offending(lambda security: bool(security.get("privileged")))
    return Violation("privileged", f"{containers(bad)} must not set securityContext.privileged=true") if bad else None


def proc_mount(pod: Pod) -> Found:
    bad = pod.offending(lambda security: security.get("procMount", "Default") != "Default")
    types = sorted({security.get("procMount", "Default") for _, _, security in pod.containers()} - {"Default"})
    detail = f"{containers(bad)} must not set securityContext.procMount to {quoted(types)}"
    return Violation("procMount", detail) if bad else None


def proc_mount_unless_own_users(pod: Pod) -> Found:
    return None if pod.has_own_users else proc_mount(pod)


def selinux(*more: str) -> Callable[[Pod], Found]:
    types = {"", "container_t", "container_init_t", "container_kvm_t", *more}

    def wrong(security: Object) -> Object:
        """The options that are not allowed."""
        options = security.get("seLinuxOptions") or {}
        found = {field: options[field] for field in ("user", "role") if options.get(field)}
        return found | ({"type": options["type"]} if options.get("type", "") not in types else {})

    def check(pod: Pod) -> Found:
        bad = pod.offending(lambda security: bool(wrong(security)))
        every = [wrong(pod.security), *(wrong(security) for _, _, security in pod.containers())]
        named = sorted({options["type"] for options in every if "type" in options})
        data = [f"{plural('type', named)} {quoted(named)}"] if named else []
        data += [f"{field} may not be set" for field in ("user", "role") if any(field in options for options in every)]
        by = setters(bool(wrong(pod.security)), bad)
        detail = f"{by} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return Violation("seLinuxOptions", detail) if by else None

    return check


def seccomp_annotations(pod: Pod) -> Found:
    keys = [_SECCOMP_POD, *(f"{_SECCOMP_CONTAINER}{name}" for name, _, _ in pod.containers())]
    bad = sorted(
        f"{key}={quote(value)}"
        for key in keys
        if (value := pod.annotations.get(key)) is not None
        and value not in ("runtime/default", "docker/default")
        and not value.startswith("localhost/")
    )
    return Violation("seccompProfile", f"forbidden {plural('annotation', bad)} {', '.join(bad)}") if bad else None


def seccomp(pod: Pod) -> Found:
    bad, values = _profiles(pod, "seccompProfile")
    by = setters(_profile(pod.security, "seccompProfile") is not None, bad)
    detail = f"{by} must not set securityContext.seccompProfile.type to {quoted(values)}"
    return Violation("seccompProfile", detail) if by else None


def sysctls(*allowed: str) -> Callable[[Pod], Found]:
    def check(pod: Pod) -> Found:
        bad = [one["name"] for one in pod.security.get("sysctls") or () if one["name"] not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def windows_host_process(pod: Pod) -> Found:
    def is_bad(security: Object) -> bool:
        return bool((security.get("windowsOptions") or {}).get("hostProcess"))

    by = setters(is_bad(pod.security), pod.offending(is_bad))
    return (
        Violation("hostProcess", f"{by} must not set securityContext.windowsOptions.hostProcess=true") if by else None
    )
