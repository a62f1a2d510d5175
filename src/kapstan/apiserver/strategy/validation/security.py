"""Security contexts of pods and containers."""

from __future__ import annotations

import re

from kapstan.apiserver.strategy.validation.common import Object, Rules, in_range, one_of, struct
from kapstan.apiserver.strategy.validation.paths import descending_path
from kapstan.machinery.golang import Rendered
from kapstan.machinery.validation import FieldError, Path

__all__ = ("container_security", "pod_security")

_MAX_ID = 2**31 - 1
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_SYSCTL_RE = re.compile(r"[a-z0-9](?:[-_a-z0-9]*+(?<![-_]))(?:[./][a-z0-9](?:[-_a-z0-9]*+(?<![-_])))*+")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")


def container_security(context: Object, path: Path, *, host_users: bool) -> Rules:
    for field in ("runAsUser", "runAsGroup"):
        yield from in_range(context.get(field), path.child(field), 0, _MAX_ID)
    mount = context.get("procMount")
    if mount is not None:
        if mount not in ("Default", "Unmasked"):
            yield FieldError.not_supported(path.child("procMount"), mount, ("Default", "Unmasked"))
        if host_users and mount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            yield FieldError.invalid(path.child("procMount"), mount, detail)
    yield from _seccomp(context.get("seccompProfile"), path.child("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield FieldError.invalid(path, _shown(context), detail)
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield FieldError.invalid(path, _shown(context), detail)
    yield from _app_armor(context.get("appArmorProfile"), path.child("appArmorProfile"))


def _shown(context: Object) -> Rendered:
    """How Go writes a security context, nested settings aside."""
    names = {"seLinuxOptions": "SELinuxOptions"}
    fields = (
        "capabilities privileged seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot "
        "readOnlyRootFilesystem allowPrivilegeEscalation procMount seccompProfile appArmorProfile"
    )
    return struct(**{names.get(field, field[0].upper() + field[1:]): context.get(field) for field in fields.split()})


def pod_security(context: Object, spec: Object, path: Path) -> Rules:
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from in_range(context.get(field), path.child(field), 0, _MAX_ID)
    for position, group in enumerate(context.get("supplementalGroups") or ()):
        yield from in_range(group, path.child("supplementalGroups").index(position), 0, _MAX_ID)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield FieldError.invalid(path.child("shareProcessNamespace"), True, detail)
    yield from _sysctls(context, spec, path.child("sysctls"))
    if context.get("fsGroupChangePolicy") is not None:
        supported = ("Always", "OnRootMismatch")
        yield from one_of(context["fsGroupChangePolicy"], path.child("fsGroupChangePolicy"), supported)
    yield from _seccomp(context.get("seccompProfile"), path.child("seccompProfile"))
    yield from _app_armor(context.get("appArmorProfile"), path.child("appArmorProfile"))
    for field, values in (
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("MountOption", "Recursive")),
    ):
        if context.get(field) is not None:
            yield from one_of(context[field], path.child(field), values)


def _sysctls(context: Object, spec: Object, path: Path) -> Rules:
    names: set[str] = set()
    for position, sysctl in enumerate(context.get("sysctls") or ()):
        at, name = path.index(position).child("name"), sysctl.get("name", "")
        if not name:
            yield FieldError.required(at)
        elif len(name) > 253 or not _SYSCTL_RE.fullmatch(name):
            yield FieldError.invalid(at, name, f"must have at most 253 characters and match regex {_SYSCTL}")
        elif name in names:
            yield FieldError.duplicate(at, name)
        names.add(name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            yield FieldError.invalid(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and dotted.startswith(("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")):
            yield FieldError.invalid(at, name, "may not be specified when 'hostIPC' is true")


def _seccomp(profile: Object | None, path: Path) -> Rules:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield FieldError.required(path.child("type"), "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield FieldError.not_supported(path.child("type"), kind, _PROFILES)
    if kind == "Localhost":
        if local is None:
            yield FieldError.required(path.child("localhostProfile"), "must be set when seccomp type is Localhost")
        else:
            yield from descending_path(local, path.child("localhostProfile"))
    elif local is not None:
        shown = struct(Type=kind, LocalhostProfile=local)
        detail = "can only be set when seccomp type is Localhost"
        yield FieldError.invalid(path.child("localhostProfile"), shown, detail)


def _app_armor(profile: Object | None, path: Path) -> Rules:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    at = path.child("localhostProfile")
    if kind == "Localhost":
        if not local:
            yield FieldError.required(at, "must be set when AppArmor type is Localhost")
        elif local != local.strip():
            yield FieldError.invalid(at, local, "must not be padded with whitespace")
    elif kind in _PROFILES:
        if local is not None:
            yield FieldError.invalid(at, local, "can only be set when AppArmor type is Localhost")
    elif not kind:
        yield FieldError.required(path.child("type"), "type is required when appArmorProfile is set")
    else:
        yield FieldError.not_supported(path.child("type"), kind, _PROFILES)
