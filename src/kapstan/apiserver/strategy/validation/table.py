"""The table of validators."""

from __future__ import annotations

from collections.abc import Mapping

from kapstan.apiserver.strategy.validation import (
    aggregation,
    apps,
    autoscaling,
    batch,
    claims,
    classes,
    core,
    events,
    ingresses,
    networkpolicies,
    persistent,
    pods,
    podupdates,
    policies,
    policy,
    quotas,
    rbac,
    services,
    slices,
    storage,
    webhooks,
)
from kapstan.apiserver.strategy.validation.validator import Change, Check, Validator, again
from kapstan.machinery.gvk import GroupResource

__all__ = ("VALIDATORS",)

_ADMISSION = "admissionregistration.k8s.io"
_NETWORKING = "networking.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_STORAGE = "storage.k8s.io"


def _rules(create: Check, update: Change | None = None, status: Change | None = None) -> Validator:
    """Changed objects are checked like new ones unless there are rules of their own."""
    changed = update or again(create)
    return (
        Validator(create=create, update=changed, status=status) if status else Validator(create=create, update=changed)
    )


VALIDATORS: Mapping[GroupResource, Validator] = {
    GroupResource("", "configmaps"): _rules(core.config_map, core.config_map_update),
    GroupResource("", "endpoints"): _rules(core.endpoints, core.endpoints_update),
    GroupResource("", "events"): _rules(events.core_event, events.core_event_update),
    GroupResource("", "limitranges"): _rules(quotas.limit_range, quotas.limit_range_update),
    GroupResource("", "namespaces"): Validator(create=core.namespace, status=core.namespace_status),
    GroupResource("", "nodes"): _rules(core.node, core.node_update, core.node_status),
    GroupResource("", "persistentvolumeclaims"): _rules(claims.claim, claims.claim_update, claims.claim_status),
    GroupResource("", "persistentvolumes"): _rules(persistent.volume, persistent.volume_update),
    GroupResource("", "pods"): _rules(pods.pod_create, podupdates.pod_update, podupdates.pod_status_update),
    GroupResource("", "podtemplates"): _rules(apps.pod_template_object),
    GroupResource("", "replicationcontrollers"): _rules(
        apps.replication_controller, apps.replication_controller_update, apps.replica_set_status
    ),
    GroupResource("", "resourcequotas"): _rules(quotas.quota, quotas.quota_update, quotas.quota_status),
    GroupResource("", "secrets"): _rules(core.secret, core.secret_update),
    GroupResource("", "services"): _rules(services.service, services.service_update, services.service_status),
    GroupResource("events.k8s.io", "events"): _rules(events.event, events.event_update),
    GroupResource(_ADMISSION, "mutatingadmissionpolicies"): _rules(
        policies.mutating_policy, policies.mutating_policy_update
    ),
    GroupResource(_ADMISSION, "mutatingadmissionpolicybindings"): _rules(policies.mutating_policy_binding),
    GroupResource(_ADMISSION, "mutatingwebhookconfigurations"): _rules(
        webhooks.mutating_configuration, webhooks.mutating_configuration_update
    ),
    GroupResource(_ADMISSION, "validatingadmissionpolicies"): _rules(
        policies.validating_policy, policies.validating_policy_update, policies.policy_status
    ),
    GroupResource(_ADMISSION, "validatingadmissionpolicybindings"): _rules(policies.validating_policy_binding),
    GroupResource(_ADMISSION, "validatingwebhookconfigurations"): _rules(
        webhooks.validating_configuration, webhooks.validating_configuration_update
    ),
    GroupResource("apiregistration.k8s.io", "apiservices"): _rules(
        aggregation.api_service, aggregation.api_service_update, aggregation.api_service_status
    ),
    GroupResource("apps", "controllerrevisions"): _rules(apps.controller_revision, apps.controller_revision_update),
    GroupResource("apps", "daemonsets"): _rules(apps.daemon_set, apps.daemon_set_update, apps.daemon_set_status),
    GroupResource("apps", "deployments"): _rules(apps.deployment, apps.deployment_update, apps.deployment_status),
    GroupResource("apps", "replicasets"): _rules(apps.replica_set, apps.replica_set_update, apps.replica_set_status),
    GroupResource("apps", "statefulsets"): _rules(
        apps.stateful_set, apps.stateful_set_update, apps.stateful_set_status
    ),
    GroupResource("autoscaling", "horizontalpodautoscalers"): _rules(
        autoscaling.autoscaler, autoscaling.autoscaler_update, autoscaling.autoscaler_status
    ),
    GroupResource("batch", "cronjobs"): _rules(batch.cron_job, batch.cron_job_update),
    GroupResource("batch", "jobs"): _rules(batch.job, batch.job_update, batch.job_status),
    GroupResource("coordination.k8s.io", "leasecandidates"): _rules(
        classes.lease_candidate, classes.lease_candidate_update
    ),
    GroupResource("coordination.k8s.io", "leases"): _rules(classes.lease, classes.lease_update),
    GroupResource("discovery.k8s.io", "endpointslices"): _rules(slices.endpoint_slice, slices.endpoint_slice_update),
    GroupResource(_NETWORKING, "ingressclasses"): _rules(ingresses.ingress_class, ingresses.ingress_class_update),
    GroupResource(_NETWORKING, "ingresses"): _rules(
        ingresses.ingress, ingresses.ingress_update, ingresses.ingress_status
    ),
    GroupResource(_NETWORKING, "ipaddresses"): _rules(ingresses.ip_address_object, ingresses.ip_address_update),
    GroupResource(_NETWORKING, "networkpolicies"): _rules(
        networkpolicies.network_policy, networkpolicies.network_policy_update
    ),
    GroupResource(_NETWORKING, "servicecidrs"): _rules(ingresses.service_cidr, ingresses.service_cidr_update),
    GroupResource("node.k8s.io", "runtimeclasses"): _rules(classes.runtime_class, classes.runtime_class_update),
    GroupResource("policy", "poddisruptionbudgets"): _rules(policy.budget, None, policy.budget_status),
    GroupResource(_RBAC, "clusterrolebindings"): _rules(rbac.cluster_role_binding, rbac.cluster_role_binding_update),
    GroupResource(_RBAC, "clusterroles"): _rules(rbac.cluster_role),
    GroupResource(_RBAC, "rolebindings"): _rules(rbac.role_binding, rbac.role_binding_update),
    GroupResource(_RBAC, "roles"): _rules(rbac.role),
    GroupResource("scheduling.k8s.io", "priorityclasses"): _rules(
        classes.priority_class, classes.priority_class_update
    ),
    GroupResource(_STORAGE, "csidrivers"): _rules(storage.driver, storage.driver_update),
    GroupResource(_STORAGE, "csinodes"): _rules(storage.csi_node, storage.csi_node_update),
    GroupResource(_STORAGE, "csistoragecapacities"): _rules(storage.capacity, storage.capacity_update),
    GroupResource(_STORAGE, "storageclasses"): _rules(storage.storage_class, storage.storage_class_update),
    GroupResource(_STORAGE, "volumeattachments"): _rules(
        storage.attachment, storage.attachment_update, storage.attachment_update
    ),
    GroupResource(_STORAGE, "volumeattributesclasses"): _rules(
        storage.attributes_class, storage.attributes_class_update
    ),
}
