"""Metrics of connections to workload clusters, by Cluster API's names."""

from __future__ import annotations

from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.metrics import Registry

__all__ = ("ConnectionMetrics",)

_LABELS = ("cluster_name", "cluster_namespace")


class ConnectionMetrics:
    """What is counted about workload clusters."""

    def __init__(self, registry: Registry) -> None:
        self._up = registry.gauge(
            "capi_cluster_cache_connection_up", "Whether the connection to the cluster is up.", _LABELS
        )
        self._probe = registry.gauge(
            "capi_cluster_cache_healthcheck", "Result of the last probe of the cluster.", _LABELS
        )
        self._probes = registry.counter(
            "capi_cluster_cache_healthchecks_total", "Results of all probes of the cluster.", (*_LABELS, "status")
        )

    def connected(self, cluster: ObjectKey, up: bool) -> None:
        self._up.labels(cluster.name, cluster.namespace).set(up)

    def probed(self, cluster: ObjectKey, well: bool) -> None:
        self._probe.labels(cluster.name, cluster.namespace).set(well)
        self._probes.labels(cluster.name, cluster.namespace, "success" if well else "error").inc()

    def forget(self, cluster: ObjectKey) -> None:
        for family in (self._up, self._probe):
            family.remove(cluster.name, cluster.namespace)
        for status in ("success", "error"):
            self._probes.remove(cluster.name, cluster.namespace, status)
