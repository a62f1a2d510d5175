"""Defaults of pods and of what is in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.apiserver.strategy.defaults.constants import API, Default
from kapstan.apiserver.strategy.images import pull_policy
from kapstan.apiserver.strategy.resources import aggregate, is_huge_page, is_overcommitted, is_pod_level

__all__ = ("DEFAULTS",)

Object = dict[str, Any]

_CORE = f"{API}core/v1."
# From before init containers had a field of their own.
_INIT_CONTAINER_ANNOTATIONS = tuple(
    f"pod.{stage}.kubernetes.io/init-container{what}" for stage in ("alpha", "beta") for what in ("s", "-statuses")
)


def _pod(pod: Object) -> None:
    spec = pod["spec"]
    for container in _containers(spec):
        _request_limits(container["resources"])
    if spec.get("resources"):
        _pod_level_limits(spec)
        _pod_level_requests(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in _containers(spec):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port["containerPort"])
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    _drop_init_container_annotations(pod)


def _containers(spec: Object) -> list[Object]:
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _request_limits(resources: Object) -> None:
    """What a pod limits and does not request, it requests. In templates this is left to the pods made from them."""
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _pod_level_limits(spec: Object) -> None:
    """The huge pages of all containers are the pod's, where it limits resources as a whole and says nothing of them."""
    resources = spec["resources"]
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not limits and not requests:
        return
    for name, amount in aggregate(spec, "limits").items():
        if is_pod_level(name) and is_huge_page(name) and name not in requests:
            limits.setdefault(name, amount)
    if limits:
        resources["limits"] = limits


def _pod_level_requests(spec: Object) -> None:
    resources = spec["resources"]
    limits = resources.get("limits")
    if not limits:
        return
    requests = resources.get("requests") or {}
    for name, amount in aggregate(spec, "requests").items():
        if is_pod_level(name) and is_overcommitted(name):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, amount)
    if requests:
        resources["requests"] = requests


def _drop_init_container_annotations(obj: Object) -> None:
    annotations = obj["metadata"].get("annotations")
    if annotations:
        for name in _INIT_CONTAINER_ANNOTATIONS:
            annotations.pop(name, None)
        if not annotations:
            del obj["metadata"]["annotations"]


def _pod_spec(spec: Object) -> None:
    """`serviceAccount` is the old name of `serviceAccountName`: both are always served."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _pod_status(status: Object) -> None:
    """`podIP` is the first of `podIPs`; where they differ, the older field wins."""
    one, many = status.get("podIP"), status.get("podIPs")
    if one and (not many or many[0].get("ip") != one):
        status["podIPs"] = [{"ip": one}]
    elif many and many[0].get("ip"):
        status["podIP"] = many[0]["ip"]


def _container(container: Object) -> None:
    container.setdefault("imagePullPolicy", pull_policy(container.get("image", "")))


def _volume(volume: Object) -> None:
    if len(volume) == 1:  # only its name
        volume["emptyDir"] = {}
    image = volume.get("image")
    if image is not None:
        image.setdefault("pullPolicy", pull_policy(image.get("reference", "")))


def _grpc_action(action: Object) -> None:
    if action.get("service") is None:
        action["service"] = ""


DEFAULTS: Mapping[str, Default] = {
    f"{_CORE}Container": _container,
    f"{_CORE}EphemeralContainer": _container,
    f"{_CORE}GRPCAction": _grpc_action,
    f"{_CORE}Pod": _pod,
    f"{_CORE}PodSpec": _pod_spec,
    f"{_CORE}PodStatus": _pod_status,
    f"{_CORE}PodTemplateSpec": _drop_init_container_annotations,
    f"{_CORE}Volume": _volume,
}
