"""Eviction: a pod is deleted if its disruption budget can spare it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kapstan.apiserver.registry import delete as deleting
from kapstan.apiserver.registry.admitting import admit_order
from kapstan.apiserver.registry.errors import conflict, not_found
from kapstan.apiserver.registry.objects import decode
from kapstan.apiserver.request import DeleteOptions, Preconditions, Request
from kapstan.apiserver.strategy.disruption import is_ready, selects, with_condition
from kapstan.apiserver.strategy.subresources.body import read_body
from kapstan.apiserver.strategy.subresources.conditions import set_pod_condition
from kapstan.apiserver.strategy.subresources.rewriting import rewrite
from kapstan.machinery.errors import APIError, BadRequest, Conflict, Forbidden, TooManyRequests
from kapstan.machinery.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from kapstan.machinery.meta import Status, StatusCause, StatusDetails

if TYPE_CHECKING:
    from kapstan.apiserver.kinds import ServedKind

__all__ = ("evict",)

Object = dict[str, Any]

_EVICTION = GroupVersionKind("policy", "v1", "Eviction")
_BUDGETS = GroupVersionResource("policy", "v1", "poddisruptionbudgets")
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_MAX_DISRUPTED = 2000
_ATTEMPTS = 20
_EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


async def evict(request: Request, body: Object | None) -> Object:
    """`POST pods/{name}/eviction`."""
    eviction = await admit_order(request, read_body(_EVICTION, body))
    if eviction["metadata"].get("name", "") != request.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    options = _delete_options(eviction.get("deleteOptions") or {}, request.dry_run)
    if not await _evict_idle(request, options):
        await _evict_budgeted(request, _pod(request), options)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def _evict_idle(request: Request, options: DeleteOptions) -> bool:
    """Delete a pod that no budget protects, for it does not run yet or not any more; whether it is such a pod."""
    for attempt in range(_ATTEMPTS):
        pod = _pod(request)
        if not _needs_no_budget(pod):
            return False
        racing = (pod.get("status") or {}).get("phase") == "Pending" and not pod["metadata"].get("deletionTimestamp")
        try:
            await _delete(request, _at(options, pod["metadata"]["resourceVersion"]) if racing else options)
        except Conflict:
            if options.preconditions.resource_version is not None or attempt == _ATTEMPTS - 1:
                raise
        else:
            return True
    raise AssertionError("unreachable")


async def _evict_budgeted(request: Request, pod: Object, options: DeleteOptions) -> None:
    budgets = _budgets_of(request, pod)
    if len(budgets) > 1:
        raise APIError(_SEVERAL, status=Status(status="Failure", message=_SEVERAL, code=500))
    if budgets and not is_ready(pod) and _spares_unhealthy(budgets[0]):
        try:
            await _delete(request, _at(options, pod["metadata"]["resourceVersion"]))
        except Conflict:
            if options.preconditions.resource_version is not None:
                raise
            raise _still_processed(budgets[0]["metadata"]["name"]) from None
        return
    if budgets:
        await _take_from(request, budgets[0], options.dry_run)
    await _delete(request, options)


def _pod(request: Request) -> Object:
    kind = request.kind
    record = request.cluster.storage.latest(kind.storage.group_resource, request.key)
    if record is None:
        raise not_found(kind.gvr.group_resource, request.name)
    return decode(record.value)


def _needs_no_budget(pod: Object) -> bool:
    """What does not run, or is going anyway, disrupts nobody."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def _spares_unhealthy(budget: Object) -> bool:
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _budgets_of(request: Request, pod: Object) -> list[Object]:
    stored = request.cluster.storage.list(_BUDGETS.group_resource, f"{request.namespace}/")
    budgets = [decode(record.value) for record in stored]
    return [budget for budget in budgets if selects(budget, pod["metadata"].get("labels"))]


async def _take_from(request: Request, budget: Object, dry_run: bool) -> None:
    """Use one disruption that the budget allows; refuse if there is none."""

    def change(budget: Object) -> None:
        _check(budget)
        status = budget["status"]
        status["disruptionsAllowed"] -= 1
        if not status["disruptionsAllowed"]:
            status = with_condition(status, request.timestamp)
        disrupted = {**(status.get("disruptedPods") or {}), request.name: request.timestamp}
        budget["status"] = {**status, "disruptedPods": disrupted}

    metadata = budget["metadata"]
    kind = _served(request, _BUDGETS)
    await rewrite(request.cluster.storage, kind, metadata["namespace"], metadata["name"], change, dry_run=dry_run)


def _check(budget: Object) -> None:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _still_processed(name)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > _MAX_DISRUPTED:
        raise _forbidden(name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    if allowed == 0:
        raise _too_many(_why(name, status))


def _why(name: str, status: Object) -> str:
    conditions = status.get("conditions") or ()
    found = [one for one in conditions if one["type"] == "DisruptionAllowed" and one["status"] == "False"]
    message, reason = (found[0].get("message"), found[0].get("reason")) if found else ("", "")
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if message and reason == "SyncFailed":
        return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
    if healthy <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
    text = f"The disruption budget {name} does not allow evicting pods currently"
    return f"{text} ({reason}): {message}" if message else text


def _still_processed(name: str) -> TooManyRequests:
    return _too_many(f"The disruption budget {name} is still being processed by the server.", retry_after=10)


def _too_many(why: str, retry_after: int = 0) -> TooManyRequests:
    cause = StatusCause(reason="DisruptionBudget", message=why)
    return TooManyRequests(_REFUSED, details=StatusDetails(causes=[cause], retry_after_seconds=retry_after))


def _forbidden(name: str, why: str) -> Forbidden:
    details = StatusDetails(group="policy", kind="poddisruptionbudget", name=name)
    return Forbidden(f'poddisruptionbudget.policy "{name}" is forbidden: {why}', details=details)


async def _delete(request: Request, options: DeleteOptions) -> None:
    """Note on the pod why it goes, and delete it."""
    if not options.dry_run:

        def change(pod: Object) -> None:
            _check_preconditions(pod["metadata"], options.preconditions)
            set_pod_condition(pod, _EVICTED, request.timestamp)

        storage, kind = request.cluster.storage, request.kind
        pod = await rewrite(storage, kind, request.namespace, request.name, change, dry_run=False)
        if options.preconditions.resource_version is not None:
            options = _at(options, pod["metadata"]["resourceVersion"], force=True)
    await deleting.delete(
        Request(
            request.cluster,
            request.user,
            "delete",
            request.kind,
            namespace=request.namespace,
            name=request.name,
            options=options,
            now=request.now,
        )
    )


def _check_preconditions(metadata: Object, wanted: Preconditions) -> None:
    pod, name = GroupResource("", "Pod"), metadata["name"]
    if wanted.uid and wanted.uid != metadata["uid"]:
        why = f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({metadata['uid']})."
        raise conflict(pod, name, f"{why} The object might have been deleted and then recreated")
    version = metadata["resourceVersion"]
    if wanted.resource_version and wanted.resource_version != version:
        why = f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the ResourceVersion"
        raise conflict(pod, name, f"{why} in record ({version}). The object might have been modified")


def _at(options: DeleteOptions, version: str, *, force: bool = False) -> DeleteOptions:
    """Only if the pod is still what was looked at, unless the client has said itself what it should be."""
    if options.preconditions.resource_version is not None and not force:
        return options
    preconditions = msgspec.structs.replace(options.preconditions, resource_version=version)
    return msgspec.structs.replace(options, preconditions=preconditions)


def _delete_options(options: Object, dry_run: bool) -> DeleteOptions:
    preconditions = options.get("preconditions") or {}
    return DeleteOptions(
        dry_run=dry_run or bool(options.get("dryRun")),
        grace_period_seconds=options.get("gracePeriodSeconds"),
        preconditions=Preconditions(preconditions.get("uid"), preconditions.get("resourceVersion")),
        orphan_dependents=options.get("orphanDependents"),
        propagation_policy=options.get("propagationPolicy"),
    )


def _served(request: Request, gvr: GroupVersionResource) -> ServedKind:
    kind = request.cluster.kinds.resource(gvr)
    assert kind is not None
    return kind
