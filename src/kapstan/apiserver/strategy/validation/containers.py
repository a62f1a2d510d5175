"""Containers: what each needs, and what must not be twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    complaints,
    dns_label,
    dns_subdomain,
    env_name_errors,
    one_of,
    port_name_errors,
    port_number,
)
from kapstan.apiserver.strategy.validation.downward import ENV_FIELDS, object_field, resource_field
from kapstan.apiserver.strategy.validation.handlers import lifecycle, probe
from kapstan.apiserver.strategy.validation.paths import backsteps, descending_path
from kapstan.apiserver.strategy.validation.resources import requirements
from kapstan.apiserver.strategy.validation.security import container_security
from kapstan.machinery.names import config_map_key_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = ("PodContext", "containers", "ephemeral_containers", "init_containers")

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_EPHEMERAL = "cannot be set for an Ephemeral Container"
_NOT_EPHEMERAL = (
    "ports",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "resizePolicy",
    "restartPolicy",
)


class PodContext(msgspec.Struct, frozen=True):
    """What the rules of containers need to know of their pod."""

    volumes: Mapping[str, Object]
    claim_names: Sequence[str]
    grace_period: int
    restart_policy: str
    host_users: bool
    os: str | None


def containers(found: Sequence[Object] | None, pod: PodContext, path: Path) -> Rules:
    if not found:
        yield FieldError.required(path)
        return
    names: set[str] = set()
    for position, container in enumerate(found):
        at = path.index(position)
        yield from _common(container, pod, at)
        if container["name"] in names:
            yield FieldError.duplicate(at.child("name"), container["name"])
        names.add(container["name"])
        yield from _running(container, pod, at)
        yield from _restart_rules(container, at)
    yield from _host_ports(list(enumerate(found)), path)


def init_containers(
    found: Sequence[Object] | None, regular: Sequence[Object] | None, pod: PodContext, path: Path
) -> Rules:
    names = {container["name"] for container in regular or ()}
    for position, container in enumerate(found or ()):
        at = path.index(position)
        yield from _common(container, pod, at)
        yield from _restart_rules(container, at)
        if container["name"] in names:
            yield FieldError.duplicate(at.child("name"), container["name"])
        elif container["name"]:
            names.add(container["name"])
        yield from _host_ports([(0, container)], path)
        if container.get("restartPolicy") == "Always":
            yield from _running(container, pod, at)
        else:
            for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
                if container.get(field) is not None:
                    detail = "may not be set for init containers without restartPolicy=Always"
                    yield FieldError.forbidden(at.child(field), detail)
            yield from _init_resize_policy(container, at)


def _init_resize_policy(container: Object, path: Path) -> Rules:
    for position, policy in enumerate(container.get("resizePolicy") or ()):
        if policy.get("restartPolicy") == "RestartContainer":
            at = path.child("resizePolicy").index(position).child("restartPolicy")
            detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield FieldError.invalid(at, "RestartContainer", detail)


def ephemeral_containers(found: Sequence[Object] | None, spec: Object, pod: PodContext, path: Path) -> Rules:
    others = {one["name"] for field in ("containers", "initContainers") for one in spec.get(field) or ()}
    names = set(others)
    for position, container in enumerate(found or ()):
        at = path.index(position)
        yield from _common(container, pod, at)
        yield from image_spaces(container, at)
        if container["name"] in names:
            yield FieldError.duplicate(at.child("name"), container["name"])
        names.add(container["name"])
        target = container.get("targetContainerName")
        if target and target not in others:
            yield FieldError.not_found(at.child("targetContainerName"), target)
        for field in _NOT_EPHEMERAL:
            if container.get(field) is not None:
                yield FieldError.forbidden(at.child(field), _EPHEMERAL)
        if container["resources"]:
            yield FieldError.forbidden(at.child("resources"), _EPHEMERAL)
        for index, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    yield FieldError.forbidden(at.child("volumeMounts").index(index).child(field), _EPHEMERAL)


def image_spaces(container: Object, path: Path) -> Rules:
    """Templates may have spaces around images, pods may not."""
    image = container.get("image", "")
    if image != image.strip():
        yield FieldError.invalid(path.child("image"), image, "must not have leading or trailing whitespace")


def _common(container: Object, pod: PodContext, path: Path) -> Rules:
    name = container["name"]
    if not name:
        yield FieldError.required(path.child("name"))
    else:
        yield from dns_label(name, path.child("name"))
    if not container.get("image"):
        yield FieldError.required(path.child("image"))
    policies = ("File", "FallbackToLogsOnError")
    yield from one_of(container.get("terminationMessagePolicy"), path.child("terminationMessagePolicy"), policies)
    yield from _ports(container.get("ports") or (), path.child("ports"))
    yield from _env(container.get("env") or (), path.child("env"))
    yield from _env_from(container.get("envFrom") or (), path.child("envFrom"))
    yield from _mounts(container, pod.volumes, path.child("volumeMounts"))
    yield from _devices(container, pod.volumes, path.child("volumeDevices"))
    yield from one_of(container.get("imagePullPolicy"), path.child("imagePullPolicy"), _PULL_POLICIES)
    yield from requirements(container["resources"], path.child("resources"), claim_names=pod.claim_names)
    yield from _resize_policy(container.get("resizePolicy") or (), pod.restart_policy, path.child("resizePolicy"))
    context = container.get("securityContext")
    if context is not None:
        yield from container_security(context, path.child("securityContext"), host_users=pod.host_users)


def _running(container: Object, pod: PodContext, path: Path) -> Rules:
    """What is asked of a container while it runs."""
    if container.get("lifecycle") is not None:
        yield from lifecycle(container["lifecycle"], pod.grace_period, path.child("lifecycle"), pod.os)
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(kind) is not None:
            yield from probe(container[kind], pod.grace_period, path.child(kind), kind)


def _restart_rules(container: Object, path: Path) -> Rules:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if rules:
            detail = "must specify restartPolicy when restart rules are used"
            yield FieldError.required(path.child("restartPolicy"), detail)
    elif policy not in _RESTART_POLICIES:
        yield FieldError.not_supported(path.child("restartPolicy"), policy, _RESTART_POLICIES)
    if len(rules) > 20:
        yield FieldError.too_many(path.child("restartPolicyRules"), len(rules), 20)
    for position, rule in enumerate(rules):
        at = path.child("restartPolicyRules").index(position)
        actions = ("Restart", "RestartAllContainers")
        if rule.get("action", "") not in actions:
            yield FieldError.not_supported(at.child("action"), rule.get("action", ""), actions)
        codes = rule.get("exitCodes")
        if codes is None:
            yield FieldError.required(at.child("exitCodes"), "must be specified")
        elif codes.get("operator", "") not in ("In", "NotIn"):
            operator = at.child("exitCodes", "operator")
            yield FieldError.not_supported(operator, codes.get("operator", ""), ("In", "NotIn"))


def _resize_policy(policies: Sequence[Object], restart_policy: str, path: Path) -> Rules:
    seen: set[str] = set()
    for position, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            yield FieldError.duplicate(path.index(position), name)
        seen.add(name)
        yield from one_of(name, path, ("cpu", "memory"))
        yield from one_of(restart, path, ("NotRequired", "RestartContainer"))
        if restart_policy == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield FieldError.invalid(path, restart, detail)


# Ports ----------------------------------------------------------------------------------------------------------------


def _ports(ports: Sequence[Object], path: Path) -> Rules:
    names: set[str] = set()
    for position, one in enumerate(ports):
        at, name = path.index(position), one.get("name")
        if name:
            wrong = list(complaints(name, at.child("name"), port_name_errors))
            yield from wrong
            if not wrong and name in names:
                yield FieldError.duplicate(at.child("name"), name)
            elif not wrong:
                names.add(name)
        if not one["containerPort"]:
            yield FieldError.required(at.child("containerPort"))
        else:
            yield from port_number(one["containerPort"], at.child("containerPort"))
        if one.get("hostPort"):
            yield from port_number(one["hostPort"], at.child("hostPort"))
        yield from one_of(one.get("protocol"), at.child("protocol"), _PROTOCOLS)


def _host_ports(found: Sequence[tuple[int, Object]], path: Path) -> Rules:
    taken: set[str] = set()
    for position, container in found:
        for index, one in enumerate(container.get("ports") or ()):
            if one.get("hostPort"):
                key = f"{one.get('protocol', '')}/{one.get('hostIP', '')}/{one['hostPort']}"
                if key in taken:
                    at = path.index(position).child("ports").index(index).child("hostPort")
                    yield FieldError.duplicate(at, key)
                taken.add(key)


# Environment ----------------------------------------------------------------------------------------------------------


def _env(variables: Sequence[Object], path: Path) -> Rules:
    for position, variable in enumerate(variables):
        at = path.index(position)
        if not variable["name"]:
            yield FieldError.required(at.child("name"))
        else:
            yield from complaints(variable["name"], at.child("name"), env_name_errors)
        if variable.get("valueFrom") is not None:
            yield from _value_from(variable, at.child("valueFrom"))


def _value_from(variable: Object, path: Path) -> Rules:
    source = variable["valueFrom"]
    if source.get("fieldRef") is not None:
        yield from object_field(source["fieldRef"], path.child("fieldRef"), ENV_FIELDS)
    if source.get("resourceFieldRef") is not None:
        yield from resource_field(source["resourceFieldRef"], path.child("resourceFieldRef"), in_volume=False)
    for field in ("configMapKeyRef", "secretKeyRef"):
        if source.get(field) is not None:
            yield from _key_selector(source[field], path.child(field))
    if source.get("fileKeyRef") is not None:
        yield from _file_key(source["fileKeyRef"], path.child("fileKeyRef"))
    count = sum(value is not None for value in source.values())
    if not count:
        names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield FieldError.invalid(path, "", f"must specify one of: {names}")
    elif variable.get("value"):
        yield FieldError.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield FieldError.invalid(path, "", "may not have more than one field specified at a time")


def _key_selector(selector: Object, path: Path) -> Rules:
    yield from dns_subdomain(selector.get("name", ""), path.child("name"))
    if not selector.get("key"):
        yield FieldError.required(path.child("key"))
    else:
        yield from complaints(selector["key"], path.child("key"), config_map_key_errors)


def _file_key(selector: Object, path: Path) -> Rules:
    if not selector.get("key"):
        yield FieldError.required(path.child("key"))
    else:
        yield from complaints(selector["key"], path.child("key"), env_name_errors)
    if not selector.get("volumeName"):
        yield FieldError.required(path.child("volumeName"))
    else:
        yield from dns_label(selector["volumeName"], path.child("volumeName"))
    if not selector.get("path"):
        yield FieldError.required(path.child("path"))
    else:
        yield from backsteps(selector["path"], path.child("path"))


def _env_from(sources: Sequence[Object], path: Path) -> Rules:
    for position, source in enumerate(sources):
        at = path.index(position)
        if source.get("prefix"):
            yield from complaints(source["prefix"], at.child("prefix"), env_name_errors)
        there = [field for field in ("configMapRef", "secretRef") if source.get(field) is not None]
        for field in there:
            name = source[field].get("name", "")
            if not name:
                yield FieldError.required(at.child(field, "name"))
            else:
                yield from dns_subdomain(name, at.child(field, "name"))
        if not there:
            yield FieldError.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(there) > 1:
            yield FieldError.invalid(path, "", "may not have more than one field specified at a time")


# Mounts ---------------------------------------------------------------------------------------------------------------


def _mounts(container: Object, volumes: Mapping[str, Object], path: Path) -> Rules:
    devices = {one["name"]: one.get("devicePath", "") for one in container.get("volumeDevices") or ()}
    taken: set[str] = set()
    for position, mount in enumerate(container.get("volumeMounts") or ()):
        at, name, where = path.index(position), mount["name"], mount.get("mountPath", "")
        if not name:
            yield FieldError.required(at.child("name"))
        if name not in volumes:
            yield FieldError.not_found(at.child("name"), name)
        if not where:
            yield FieldError.required(at.child("mountPath"))
        if where in taken:
            yield FieldError.invalid(at.child("mountPath"), where, "must be unique")
        taken.add(where)
        if name in devices:
            yield FieldError.invalid(at.child("name"), name, "must not already exist in volumeDevices")
        if where in devices.values():
            detail = "must not already exist as a path in volumeDevices"
            yield FieldError.invalid(at.child("mountPath"), where, detail)
        yield from _mount_options(mount, container, path, at)


def _mount_options(mount: Object, container: Object, path: Path, at: Path) -> Rules:
    if mount.get("subPath"):
        yield from descending_path(mount["subPath"], path.child("subPath"))
    if mount.get("subPathExpr"):
        if mount.get("subPath"):
            detail = "subPathExpr and subPath are mutually exclusive"
            yield FieldError.invalid(at.child("subPathExpr"), mount["subPathExpr"], detail)
        yield from descending_path(mount["subPathExpr"], path.child("subPathExpr"))
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        yield from one_of(propagation, path.child("mountPropagation"), _PROPAGATIONS)
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            detail = "Bidirectional mount propagation is available only to privileged containers"
            yield FieldError.forbidden(path.child("mountPropagation"), detail)
    recursive = mount.get("recursiveReadOnly")
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            detail = "may only be specified when readOnly is true"
            yield FieldError.forbidden(path.child("recursiveReadOnly"), detail)
        if propagation not in (None, "None"):
            detail = "may only be specified when mountPropagation is None or not specified"
            yield FieldError.forbidden(path.child("recursiveReadOnly"), detail)
    elif recursive not in (None, "Disabled"):
        supported = ("Disabled", "Enabled", "IfPossible")
        yield FieldError.not_supported(path.child("recursiveReadOnly"), recursive, supported)


def _devices(container: Object, volumes: Mapping[str, Object], path: Path) -> Rules:
    mounts = {one["name"]: one.get("mountPath", "") for one in container.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    for position, device in enumerate(container.get("volumeDevices") or ()):
        at, name, where = path.index(position), device["name"], device.get("devicePath", "")
        volume = volumes.get(name)
        if not name:
            yield FieldError.required(at.child("name"))
        if name in names:
            yield FieldError.invalid(at.child("name"), name, "must be unique")
        if volume is None:
            yield FieldError.not_found(at.child("name"), name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield FieldError.invalid(at.child("name"), name, detail)
        if not where:
            yield FieldError.required(at.child("devicePath"))
        if where in paths:
            yield FieldError.invalid(at.child("devicePath"), where, "must be unique")
        if ".." in where.split("/"):
            yield FieldError.invalid(at.child("devicePath"), where, "can not contain backsteps ('..')")
        else:
            paths.add(where)
        if name in mounts:
            yield FieldError.invalid(at.child("name"), name, "must not already exist in volumeMounts")
        if where in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            yield FieldError.invalid(at.child("devicePath"), where, detail)
        names.add(name)
