"""Accessor: one workload cluster, connected as long as it answers.

It connects, probes, gives up after too many failures and begins anew. A new kubeconfig is used at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from kapstan.client.client import Client
from kapstan.cluster.api.core.cluster import Cluster
from kapstan.cluster.remote.connection import ClientOptions, Connection
from kapstan.cluster.remote.health import Health, NotConnected, ProbeOptions
from kapstan.cluster.remote.kubeconfig import config_of, secret_name
from kapstan.cluster.remote.metrics import ConnectionMetrics
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.conditions import is_true
from kapstan.machinery.errors import KapstanError, Unauthorized
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.backoff import Backoff

__all__ = ("Accessor",)

log = logging.getLogger(__name__)

# What cannot be helped here, only waited for.
_TROUBLE = (KapstanError, TimeoutError, OSError)


class Accessor:
    """Keeps the connection to one workload cluster."""

    def __init__(
        self,
        cluster: ObjectKey,
        management: Client,
        options: ClientOptions,
        probe: ProbeOptions,
        metrics: ConnectionMetrics,
        changed: Callable[[ObjectKey], None],
    ) -> None:
        """`changed` is called when a connection comes or goes, and when a probe fails."""
        self.cluster = cluster
        self.health = Health()
        self.connection: Connection | None = None
        self._management, self._options, self._probe = management, options, probe
        self._metrics, self._changed = metrics, changed
        self._news = asyncio.Event()
        self._known: tuple[object, ...] = ()
        self._kubeconfig = b""  # as it is used
        self._backoff = Backoff(probe.retry, probe.longest_retry, jitter=0.2)

    # --- News -------------------------------------------------------------------------------------------------------

    def hear_of_cluster(self, cluster: Cluster) -> None:
        """If something has changed that lets one hope for a connection, it is tried at once."""
        endpoint = cluster.spec.control_plane_endpoint
        initialized = is_true(cluster.status.conditions, "ControlPlaneInitialized")
        known = (endpoint and endpoint.host, endpoint and endpoint.port, initialized)
        if known != self._known:
            self._known = known
            self.hear()

    def hear(self) -> None:
        """Something is new: the kubeconfig, for example."""
        self._backoff.reset()
        self._news.set()

    # --- Running ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Connect, and again when the connection is lost, until cancelled."""
        while True:
            self._news.clear()
            try:
                await self._connected(await self._connect())
            except NotConnected as waiting:
                self.health.error = str(waiting)  # no failure: it has never been there
            except _TROUBLE as error:
                self._failed(error)
            except Exception as error:
                log.exception("The connection to the workload cluster of Cluster %s failed", self.cluster)
                self._failed(error)
            await self._rest(self._backoff.next())

    async def _connect(self) -> Connection:
        secret = await self._management.find(Secret, secret_name(self.cluster.name), self.cluster.namespace)
        if secret is None:
            raise NotConnected(f"there is no Secret {secret_name(self.cluster.name)} with a kubeconfig yet")
        connection = Connection(self.cluster, config_of(secret), self._options)
        try:
            await connection.probe(self._probe.timeout)
        except BaseException:
            await connection.live.close()
            raise
        self._kubeconfig = secret.data["value"]
        return connection

    async def _connected(self, connection: Connection) -> None:
        try:
            async with connection.running():
                self._succeeded()
                self.connection = connection
                self._metrics.connected(self.cluster, True)
                self._backoff.reset()
                log.info("Connected to the workload cluster of Cluster %s", self.cluster)
                self._changed(self.cluster)
                await self._keep(connection)
        finally:
            if self.connection is not None:
                self.connection = None
                self._metrics.connected(self.cluster, False)
                self._changed(self.cluster)

    async def _keep(self, connection: Connection) -> None:
        """Probe until the cluster is lost, or has a new kubeconfig."""
        while self.health.failures < self._probe.failures:
            await self._rest(self._probe.interval)
            if self._news.is_set():
                self._news.clear()
                if await self._has_new_kubeconfig():
                    log.info("The kubeconfig of Cluster %s has changed, connecting anew", self.cluster)
                    self._news.set()
                    return
                continue
            try:
                await connection.probe(self._probe.timeout)
                self._succeeded()
            except Unauthorized as error:  # most likely the credentials have been renewed
                self._failed(error)
                self._news.set()
                return
            except _TROUBLE as error:
                self._failed(error)
        log.warning("The workload cluster of Cluster %s is lost: %s", self.cluster, self.health.error)

    async def _has_new_kubeconfig(self) -> bool:
        with suppress(*_TROUBLE):
            secret = await self._management.find(Secret, secret_name(self.cluster.name), self.cluster.namespace)
            return secret is not None and secret.data.get("value") != self._kubeconfig
        return False

    def _succeeded(self) -> None:
        self.health.succeeded()
        self._metrics.probed(self.cluster, True)

    def _failed(self, error: BaseException) -> None:
        self.health.failed(error)
        self._metrics.probed(self.cluster, False)
        log.debug("The workload cluster of Cluster %s does not answer: %s", self.cluster, self.health.error)
        self._changed(self.cluster)

    async def _rest(self, seconds: float) -> None:
        """Wait for news, but not for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
