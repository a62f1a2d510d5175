"""Checks: which rules each level has, by the minor version of Kubernetes that brought them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from kapstan.apiserver.admission.podsecurity import baseline, restricted
from kapstan.apiserver.admission.podsecurity.pod import Pod, Violation
from kapstan.apiserver.admission.podsecurity.policy import Level

__all__ = ("violations",)

Check = Callable[[Pod], Violation | None]


class _Rule(NamedTuple):
    """A rule as it changed over time; a restricted one may stand for a baseline one."""

    versions: tuple[tuple[int, Check], ...]
    instead_of: str = ""

    def at(self, minor: int) -> Check | None:
        return next((check for since, check in reversed(self.versions) if since <= minor), None)


_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
)
_SYSCTLS_27 = (*_SYSCTLS, "net.ipv4.ip_local_reserved_ports")
_SYSCTLS_29 = (
    *_SYSCTLS_27,
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
)
_SYSCTLS_32 = (*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")

# In the order in which Kubernetes tells what is wrong.
_BASELINE = {
    "appArmorProfile": _Rule(((0, baseline.app_armor),)),
    "capabilities_baseline": _Rule(((0, baseline.capabilities),)),
    "hostNamespaces": _Rule(((0, baseline.host_namespaces),)),
    "hostPathVolumes": _Rule(((0, baseline.host_path_volumes),)),
    "hostPorts": _Rule(((0, baseline.host_ports),)),
    "hostProbesAndHostLifecycle": _Rule(((34, baseline.probe_hosts),)),
    "privileged": _Rule(((0, baseline.privileged),)),
    "procMount": _Rule(((0, baseline.proc_mount), (35, baseline.proc_mount_unless_own_users))),
    "seLinuxOptions": _Rule(((0, baseline.selinux()), (31, baseline.selinux("container_engine_t")))),
    "seccompProfile_baseline": _Rule(((0, baseline.seccomp_annotations), (19, baseline.seccomp))),
    "sysctls": _Rule(
        (
            (0, baseline.sysctls(*_SYSCTLS)),
            (27, baseline.sysctls(*_SYSCTLS_27)),
            (29, baseline.sysctls(*_SYSCTLS_29)),
            (32, baseline.sysctls(*_SYSCTLS_32)),
        )
    ),
    "windowsHostProcess": _Rule(((0, baseline.windows_host_process),)),
}
_RESTRICTED = {
    "allowPrivilegeEscalation": _Rule(
        ((8, restricted.privilege_escalation), (25, restricted.not_on_windows(restricted.privilege_escalation)))
    ),
    "capabilities_restricted": _Rule(
        ((22, restricted.capabilities), (25, restricted.not_on_windows(restricted.capabilities))),
        "capabilities_baseline",
    ),
    "procMount_restricted": _Rule(((35, baseline.proc_mount),), "procMount"),
    "restrictedVolumes": _Rule(((0, restricted.volumes),), "hostPathVolumes"),
    "runAsNonRoot": _Rule(
        ((0, restricted.run_as_non_root), (35, restricted.unless_own_users(restricted.run_as_non_root)))
    ),
    "runAsUser": _Rule(((23, restricted.run_as_user), (35, restricted.unless_own_users(restricted.run_as_user)))),
    "seccompProfile_restricted": _Rule(
        ((19, restricted.seccomp_required), (25, restricted.not_on_windows(restricted.seccomp_required))),
        "seccompProfile_baseline",
    ),
}


def violations(level: Level, pod: Pod) -> list[Violation]:
    """Everything that a level has against a pod."""
    return [found for check in _checks(level) if (found := check(pod)) is not None]


@lru_cache(maxsize=256)
def _checks(level: Level) -> tuple[Check, ...]:
    if level.name == "privileged":
        return ()
    stricter = {name: rule for name, rule in _RESTRICTED.items() if level.name == "restricted" and rule.at(level.minor)}
    replaced = {rule.instead_of for rule in stricter.values()}
    rules = [rule for name, rule in _BASELINE.items() if name not in replaced]
    return tuple(check for rule in (*rules, *stricter.values()) if (check := rule.at(level.minor)) is not None)
