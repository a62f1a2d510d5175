"""The table of warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kapstan.apiserver.strategy.warnings import kinds
from kapstan.apiserver.strategy.warnings.common import Object, Warnings, address_warning
from kapstan.apiserver.strategy.warnings.pods import claim_size, pod_warnings
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.names import dns1123_label_errors
from kapstan.machinery.validation import Path

__all__ = ("STATUS_WARNINGS", "WARNINGS")

Warn = Callable[[Object, Object | None], Iterable[str]]  # of a new or changed object, and what it was before

_ADMISSION = "admissionregistration.k8s.io"
_SPEC = Path("spec")
_HISTORY = "a negative value retains all historical revisions; a value >= 0 is recommended"
_MANY = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes "
    "might not be able to track completedIndexes when a big number of indexes fail"
)


def _name(obj: Object, used_in: str = "Pod names and hostnames") -> Warnings:
    errors = dns1123_label_errors(obj["metadata"].get("name", ""))
    if errors:
        advice = f"which can result in surprising behavior; a DNS label is recommended: [{' '.join(errors)}]"
        yield f"metadata.name: this is used in {used_in}, {advice}"


def _unchanged(obj: Object, old: Object | None) -> bool:
    return old is not None and obj["metadata"].get("generation") == old["metadata"].get("generation")


def _pod(obj: Object, old: Object | None) -> Warnings:
    if old is None:
        yield from _name(obj, "the Pod's hostname")
        yield from pod_warnings(obj, Path(), is_template=False)


def _pod_status(obj: Object, old: Object | None) -> Warnings:
    for field in ("podIPs", "hostIPs"):
        for position, address in enumerate((obj.get("status") or {}).get(field) or ()):
            yield from address_warning(address.get("ip", ""), Path("status", field).index(position).child("ip"))


def _pod_template(obj: Object, old: Object | None) -> Warnings:
    if not _unchanged(obj, old):
        yield from pod_warnings(obj["template"], Path("template"), is_template=True)


def _unnamed_workload(obj: Object, old: Object | None) -> Warnings:
    if not _unchanged(obj, old):
        yield from pod_warnings(obj["spec"]["template"], _SPEC.child("template"), is_template=True)


def _workload(obj: Object, old: Object | None) -> Warnings:
    if old is None:
        yield from _name(obj)
    yield from _unnamed_workload(obj, old)


def _stateful_set(obj: Object, old: Object | None) -> Warnings:
    yield from _unnamed_workload(obj, old)
    for position, claim in enumerate(obj["spec"].get("volumeClaimTemplates") or ()):
        at = _SPEC.child("volumeClaimTemplates").index(position)
        yield from claim_size(claim["spec"], at if old is None else at.child("Spec"))
    if obj["spec"].get("revisionHistoryLimit", 0) < 0:
        yield f"spec.revisionHistoryLimit: {_HISTORY}"


def _job(obj: Object, old: Object | None) -> Warnings:
    if old is None:
        yield from _name(obj)
    if not _unchanged(obj, old):
        yield from _job_spec(obj["spec"], _SPEC)


def _job_spec(spec: Object, path: Path) -> Warnings:
    indexed = spec.get("completionMode") == "Indexed"
    if indexed and spec.get("completions", 0) > 100_000 and spec.get("parallelism", 0) > 10_000:
        yield f"{path}: {_MANY}"
    yield from pod_warnings(spec["template"], path.child("template"), is_template=True)


def _cron_job(obj: Object, old: Object | None) -> Warnings:
    if old is None:
        yield from _name(obj)
    if not _unchanged(obj, old):
        yield from _job_spec(obj["spec"]["jobTemplate"]["spec"], _SPEC.child("jobTemplate", "spec"))
    if old is not None and "TZ" in obj["spec"].get("schedule", ""):
        page = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
        yield f"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see {page} for more details"


WARNINGS: Mapping[GroupResource, Warn] = {
    GroupResource("", "endpoints"): kinds.endpoints_warnings,
    GroupResource("", "nodes"): kinds.node_warnings,
    GroupResource("", "persistentvolumeclaims"): kinds.claim_warnings,
    GroupResource("", "persistentvolumes"): kinds.volume_warnings,
    GroupResource("", "pods"): _pod,
    GroupResource("", "podtemplates"): _pod_template,
    GroupResource("", "replicationcontrollers"): _workload,
    GroupResource("", "resourcequotas"): kinds.quota_warnings,
    GroupResource("", "secrets"): kinds.secret_warnings,
    GroupResource("", "serviceaccounts"): kinds.account_warnings,
    GroupResource("", "services"): kinds.service_warnings,
    GroupResource(_ADMISSION, "mutatingadmissionpolicies"): kinds.static_name_warnings,
    GroupResource(_ADMISSION, "mutatingadmissionpolicybindings"): kinds.static_name_warnings,
    GroupResource(_ADMISSION, "mutatingwebhookconfigurations"): kinds.static_name_warnings,
    GroupResource(_ADMISSION, "validatingadmissionpolicies"): kinds.static_name_warnings,
    GroupResource(_ADMISSION, "validatingadmissionpolicybindings"): kinds.static_name_warnings,
    GroupResource(_ADMISSION, "validatingwebhookconfigurations"): kinds.static_name_warnings,
    GroupResource("apps", "daemonsets"): _unnamed_workload,
    GroupResource("apps", "deployments"): _workload,
    GroupResource("apps", "replicasets"): _workload,
    GroupResource("apps", "statefulsets"): _stateful_set,
    GroupResource("batch", "cronjobs"): _cron_job,
    GroupResource("batch", "jobs"): _job,
    GroupResource("discovery.k8s.io", "endpointslices"): kinds.slice_warnings,
    GroupResource("networking.k8s.io", "ingresses"): kinds.ingress_warnings,
    GroupResource("networking.k8s.io", "networkpolicies"): kinds.policy_warnings,
    GroupResource("node.k8s.io", "runtimeclasses"): kinds.runtime_warnings,
    GroupResource("storage.k8s.io", "csidrivers"): kinds.driver_warnings,
    GroupResource("storage.k8s.io", "csistoragecapacities"): kinds.capacity_warnings,
    GroupResource("storage.k8s.io", "storageclasses"): kinds.storage_class_warnings,
}
STATUS_WARNINGS: Mapping[GroupResource, Warn] = {
    GroupResource("", "pods"): _pod_status,
    GroupResource("", "services"): kinds.balancer_warnings,
    GroupResource("networking.k8s.io", "ingresses"): kinds.balancer_warnings,
}
