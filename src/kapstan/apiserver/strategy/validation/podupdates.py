"""Changes of pods: few are allowed, since somebody may be running the pod already."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.apiserver.strategy.validation.addresses import ip_address
from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    dns_subdomain,
    immutable,
    qualified_name,
)
from kapstan.apiserver.strategy.validation.containers import image_spaces
from kapstan.apiserver.strategy.validation.pods import pod_metadata_and_spec
from kapstan.apiserver.strategy.validation.scheduling import tolerations
from kapstan.machinery.golang import quote
from kapstan.machinery.validation import FieldError, Path

__all__ = ("ephemeral_containers_update", "pod_resize", "pod_status_update", "pod_update")

_SPEC = Path("spec")
_STATUS = Path("status")
_MAX_INT32 = 2**31 - 1
_MIRROR = "kubernetes.io/config.mirror"
_CHANGEABLE = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)


def pod_update(pod: Object, old: Object) -> Rules:
    yield from pod_metadata_and_spec(pod)
    yield from _annotation_changes(pod, old)
    spec, before = pod["spec"], old["spec"]
    for field in ("containers", "initContainers"):
        new_list, old_list = spec.get(field) or [], before.get(field) or []
        if len(new_list) != len(old_list):
            yield FieldError.forbidden(_SPEC.child(field), "pod updates may not add or remove containers")
            return
        for position, container in enumerate(new_list):
            if not container.get("image"):
                yield FieldError.required(_SPEC.child(field).index(position).child("image"))
            yield from image_spaces(container, _SPEC.child(field).index(position))
    deadline = list(_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")))
    yield from deadline
    if deadline and spec.get("activeDeadlineSeconds") is not None:
        return
    yield from _added_tolerations(spec.get("tolerations") or [], before.get("tolerations") or [])
    yield from _removed_gates(spec.get("schedulingGates") or [], before.get("schedulingGates") or [])
    if _munged(spec, before) != before:
        yield FieldError.forbidden(_SPEC, f"pod updates may not change fields other than {_CHANGEABLE}\n")


def _annotation_changes(pod: Object, old: Object) -> Rules:
    path = Path("metadata", "annotations").key(_MIRROR)
    new_value = (pod["metadata"].get("annotations") or {}).get(_MIRROR)
    old_value = (old["metadata"].get("annotations") or {}).get(_MIRROR)
    if new_value != old_value:
        what = "add" if old_value is None else "remove or update"
        yield FieldError.forbidden(path, f"may not {what} mirror pod annotation")


def _deadline(new: int | None, old: int | None) -> Rules:
    path = _SPEC.child("activeDeadlineSeconds")
    if new is None:
        if old is not None:
            yield FieldError.invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= new <= _MAX_INT32:
        yield FieldError.invalid(path, new, f"must be between 0 and {_MAX_INT32}, inclusive")
    elif old is not None and old < new:
        yield FieldError.invalid(path, new, "must be less than or equal to previous value")


def _added_tolerations(new: Sequence[Object], old: Sequence[Object]) -> Rules:
    path = _SPEC.child("tolerations")
    present = [_timeless(toleration) for toleration in new]
    if any(_timeless(toleration) not in present for toleration in old):
        yield FieldError.forbidden(path, "existing toleration can not be modified except its tolerationSeconds")
    else:
        yield from tolerations(new, path)


def _timeless(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _removed_gates(new: Sequence[Object], old: Sequence[Object]) -> Rules:
    names = {gate.get("name") for gate in old}
    for position, gate in enumerate(new):
        if gate.get("name") not in names:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield FieldError.forbidden(_SPEC.child("schedulingGates").index(position).child("name"), detail)


def _munged(spec: Object, old: Object) -> Object:
    """The new spec, with what may change put back: it must then be the old one."""
    found = dict(spec)
    for field in ("containers", "initContainers"):
        if spec.get(field):
            pairs = zip(spec[field], old[field], strict=True)
            found[field] = [{**new, "image": before.get("image")} for new, before in pairs]
    allowed = ["activeDeadlineSeconds", "schedulingGates", "tolerations"]
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        allowed.append("terminationGracePeriodSeconds")
    if old.get("schedulingGates"):
        allowed += ["nodeSelector", "affinity"]
    for field in allowed:
        found.pop(field, None)
        if field in old:
            found[field] = old[field]
    return found


def pod_status_update(pod: Object, old: Object) -> Rules:
    status, before = pod.get("status") or {}, old.get("status") or {}
    yield from _annotation_changes(pod, old)
    for position, condition in enumerate(status.get("conditions") or ()):
        at = _STATUS.child("conditions").index(position)
        if condition.get("observedGeneration", 0) < 0:
            detail = "must be a non-negative integer"
            yield FieldError.invalid(at.child("observedGeneration"), condition["observedGeneration"], detail)
        if condition["type"] not in ("PodScheduled", "Ready", "Initialized"):
            yield from qualified_name(condition["type"], at.child("Type"))
    nominated, was = status.get("nominatedNodeName"), before.get("nominatedNodeName")
    if nominated and nominated != was:
        yield from dns_subdomain(nominated, _STATUS.child("nominatedNodeName"))
        if old["spec"].get("nodeName"):
            detail = "may not be set on pods that are already bound to a node"
            yield FieldError.forbidden(_STATUS.child("nominatedNodeName"), detail)
    if status.get("observedGeneration", 0) < 0:
        detail = "must be a non-negative integer"
        yield FieldError.invalid(_STATUS.child("observedGeneration"), status["observedGeneration"], detail)
    yield from immutable(status.get("qosClass", ""), before.get("qosClass", ""), _STATUS.child("qosClass"))
    for position, address in enumerate(status.get("podIPs") or ()):
        yield from ip_address(address.get("ip", ""), _STATUS.child("podIPs").index(position))
    yield from _host_ips(status)


def _host_ips(status: Object) -> Rules:
    addresses, path = status.get("hostIPs") or (), _STATUS.child("hostIPs")
    if addresses and addresses[0].get("ip") != status.get("hostIP", ""):
        yield FieldError.invalid(path.index(0).child("ip"), addresses[0].get("ip", ""), "must be equal to `hostIP`")
    for position, address in enumerate(addresses):
        yield from ip_address(address.get("ip", ""), path.index(position))


def ephemeral_containers_update(pod: Object, old: Object) -> Rules:
    """They can be added, but neither removed nor changed."""
    yield from pod_metadata_and_spec(pod)
    path = _SPEC.child("ephemeralContainers")
    present = {one["name"]: one for one in pod["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container["name"]
        if name not in present:
            yield FieldError.forbidden(path, f"existing ephemeral containers {quote(name)} may not be removed\n")
        elif present[name] != container:
            yield FieldError.forbidden(path, f"existing ephemeral containers {quote(name)} may not be changed\n")


def pod_resize(pod: Object, old: Object) -> Rules:
    yield from pod_metadata_and_spec(pod)
    for field in ("containers", "initContainers"):
        new_list, old_list = pod["spec"].get(field) or [], old["spec"].get(field) or []
        if len(new_list) != len(old_list):
            yield FieldError.forbidden(_SPEC.child(field), f"{field} may not be added or removed on resize")
            continue
        for position, container in enumerate(old_list):
            if new_list[position]["name"] != container["name"]:
                at = _SPEC.child(field).index(position).child("name")
                yield FieldError.forbidden(at, f"{field} may not be renamed or reordered on resize")
