"""controlplane.cluster.x-k8s.io/v1beta2: control planes of clusters."""

from kapstan.cluster.api.controlplane.hosted import HostedControlPlane
from kapstan.cluster.api.controlplane.hostedtemplate import HostedControlPlaneTemplate

__all__ = ("HostedControlPlane", "HostedControlPlaneTemplate")
