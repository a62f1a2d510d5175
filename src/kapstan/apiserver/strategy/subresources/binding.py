"""Binding: a pod is assigned to a node, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapstan.apiserver.registry.admitting import admit_order
from kapstan.apiserver.registry.errors import conflict, precondition_failed, unclassified
from kapstan.apiserver.strategy.subresources.body import read_body
from kapstan.apiserver.strategy.subresources.conditions import set_pod_condition
from kapstan.apiserver.strategy.subresources.rewriting import rewrite
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from kapstan.machinery.validation import FieldError, aggregate

if TYPE_CHECKING:
    from kapstan.apiserver.request import Request

__all__ = ("bind", "bind_by_name")

Object = dict[str, Any]

_KIND = GroupVersionKind("", "v1", "Binding")
_PODS = GroupVersionResource("", "v1", "pods")
_BINDING = GroupResource("", "pods/binding")


async def bind(request: Request, body: Object | None) -> Object:
    """`POST pods/{name}/binding`."""
    binding = await admit_order(request, read_body(_KIND, body))
    if binding["metadata"].get("name", "") != request.name:
        raise BadRequest("name in URL does not match name in Binding object")
    return await _assign(request, binding, request.name)


async def bind_by_name(request: Request, body: Object | None) -> Object:
    """`POST bindings`, the older way."""
    binding = await admit_order(request, read_body(_KIND, body))
    return await _assign(request, binding, binding["metadata"].get("name", ""))


async def _assign(request: Request, binding: Object, name: str) -> Object:
    target, metadata = binding["target"], binding["metadata"]
    if errors := _errors(target):
        raise unclassified(aggregate(errors))

    def change(pod: Object) -> None:
        _check(pod, metadata, name)
        pod["spec"]["nodeName"] = target["name"]
        pod["status"].pop("nominatedNodeName", None)
        for field in ("annotations", "labels"):
            if metadata.get(field):
                pod["metadata"][field] = {**(pod["metadata"].get(field) or {}), **metadata[field]}
        set_pod_condition(pod, {"type": "PodScheduled", "status": "True"}, request.timestamp)

    kind = request.cluster.kinds.resource(_PODS)
    assert kind is not None
    await rewrite(request.cluster.storage, kind, request.namespace, name, change, dry_run=request.dry_run)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _errors(target: Object) -> list[FieldError]:
    errors = []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(FieldError.not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(FieldError.required("target.name"))
    return errors


def _check(pod: Object, wanted: Object, name: str) -> None:
    metadata = pod["metadata"]
    if wanted.get("uid") and wanted["uid"] != metadata["uid"]:
        key = f"{metadata.get('namespace')}/{name}"
        raise precondition_failed(_PODS.group_resource, key, name, wanted["uid"], metadata["uid"])
    if metadata.get("deletionTimestamp"):
        raise conflict(_BINDING, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise conflict(_BINDING, name, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"')
    if pod["spec"].get("schedulingGates"):
        raise conflict(_BINDING, name, f"pod {name} has non-empty .spec.schedulingGates")
