"""Reasons of conditions: words that programs match, so they are Cluster API's."""

from __future__ import annotations

from enum import StrEnum

__all__ = ("Reason",)


class Reason(StrEnum):
    """Why a condition is as it is."""

    # Well, not well, not known

    AVAILABLE = "Available"
    NOT_AVAILABLE = "NotAvailable"
    AVAILABLE_UNKNOWN = "AvailableUnknown"
    READY = "Ready"
    NOT_READY = "NotReady"
    READY_UNKNOWN = "ReadyUnknown"
    UP_TO_DATE = "UpToDate"
    NOT_UP_TO_DATE = "NotUpToDate"
    UP_TO_DATE_UNKNOWN = "UpToDateUnknown"
    ROLLING_OUT = "RollingOut"
    NOT_ROLLING_OUT = "NotRollingOut"
    ROLLING_OUT_UNKNOWN = "RollingOutUnknown"
    SCALING_UP = "ScalingUp"
    NOT_SCALING_UP = "NotScalingUp"
    SCALING_UP_UNKNOWN = "ScalingUpUnknown"
    SCALING_DOWN = "ScalingDown"
    NOT_SCALING_DOWN = "NotScalingDown"
    SCALING_DOWN_UNKNOWN = "ScalingDownUnknown"
    REMEDIATING = "Remediating"
    NOT_REMEDIATING = "NotRemediating"
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"
    DELETING = "Deleting"
    NOT_DELETING = "NotDeleting"
    DELETION_COMPLETED = "DeletionCompleted"
    UPDATING = "Updating"
    NOT_UPDATING = "NotUpdating"
    IN_PLACE_UPDATING = "InPlaceUpdating"
    INITIALIZED = "Initialized"
    NOT_INITIALIZED = "NotInitialized"
    PROBE_SUCCEEDED = "ProbeSucceeded"
    PROBE_FAILED = "ProbeFailed"

    # Why nothing better is known

    NOT_YET_REPORTED = "NotYetReported"
    NO_REASON_REPORTED = "NoReasonReported"
    INTERNAL_ERROR = "InternalError"
    INVALID_CONDITION_REPORTED = "InvalidConditionReported"
    OBJECT_DOES_NOT_EXIST = "ObjectDoesNotExist"
    OBJECT_DELETED = "ObjectDeleted"
    NO_REPLICAS = "NoReplicas"
    NO_WORKERS = "NoWorkers"
    WAITING_FOR_REPLICAS_SET = "WaitingForReplicasSet"
    WAITING_FOR_AVAILABLE_REPLICAS_SET = "WaitingForAvailableReplicasSet"
    ISSUES_REPORTED = "IssuesReported"
    UNKNOWN_REPORTED = "UnknownReported"
    INFO_REPORTED = "InfoReported"

    # Nodes

    NODE_READY = "NodeReady"
    NODE_NOT_READY = "NodeNotReady"
    NODE_READY_UNKNOWN = "NodeReadyUnknown"
    NODE_HEALTHY = "NodeHealthy"
    NODE_NOT_HEALTHY = "NodeNotHealthy"
    NODE_HEALTHY_UNKNOWN = "NodeHealthyUnknown"
    NODE_DELETED = "NodeDeleted"
    NODE_DOES_NOT_EXIST = "NodeDoesNotExist"
    INSPECTION_FAILED = "InspectionFailed"
    CONNECTION_DOWN = "ConnectionDown"

    # Machines

    DATA_SECRET_PROVIDED = "DataSecretProvided"  # noqa: S105 - no secret
    WAITING_FOR_MIN_READY_SECONDS = "WaitingForMinReadySeconds"
    HEALTH_CHECK_SUCCEEDED = "HealthCheckSucceeded"
    UNHEALTHY_NODE = "UnhealthyNode"
    UNHEALTHY_MACHINE = "UnhealthyMachine"
    NODE_STARTUP_TIMEOUT = "NodeStartupTimeout"
    HAS_REMEDIATE_ANNOTATION = "HasRemediateAnnotation"
    REMEDIATION_ALLOWED = "RemediationAllowed"
    TOO_MANY_UNHEALTHY = "TooManyUnhealthy"
    WAITING_FOR_REMEDIATION = "WaitingForRemediation"
    REMEDIATION_TEMPLATE_NOT_FOUND = "RemediationTemplateNotFound"
    REMEDIATION_REQUEST_CREATION_FAILED = "RemediationRequestCreationFailed"
    REMEDIATION_DEFERRED = "RemediationDeferred"
    CANNOT_BE_REMEDIATED = "CannotBeRemediated"
    MACHINE_DELETING = "MachineDeleting"

    # Stages of a deletion

    WAITING_FOR_PRE_DRAIN_HOOK = "WaitingForPreDrainHook"
    DRAINING_NODE = "DrainingNode"
    WAITING_FOR_VOLUME_DETACH = "WaitingForVolumeDetach"
    WAITING_FOR_PRE_TERMINATE_HOOK = "WaitingForPreTerminateHook"
    WAITING_FOR_INFRASTRUCTURE_DELETION = "WaitingForInfrastructureDeletion"
    WAITING_FOR_BOOTSTRAP_DELETION = "WaitingForBootstrapDeletion"
    DELETING_NODE = "DeletingNode"
    WAITING_FOR_WORKERS_DELETION = "WaitingForWorkersDeletion"
    WAITING_FOR_CONTROL_PLANE_DELETION = "WaitingForControlPlaneDeletion"
