"""Manager: runs everything that an operator is made of, in the right order, and ends it in the opposite one.

    manager = Manager.from_flags(leader_election_id="ecaf1259.example.com")
    manager.add(MemcachedReconciler())
    manager.run()

Start: servers (probes, metrics), webhooks, caches until they are filled, what needs no election, warm standbys, then
what only a leader may do. Webhooks come before caches, since a list of a kind with conversion webhooks calls them.
Stop: no reconcile begins, those that run finish within the deadline, the lease is released, caches and servers end.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from kapstan.client.client import Client
from kapstan.client.config import Config
from kapstan.machinery.errors import ConfigError
from kapstan.runtime.background import background
from kapstan.runtime.builder import build
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.cluster import Cluster
from kapstan.runtime.controller import Controller
from kapstan.runtime.declaration import ControllerDeclaration
from kapstan.runtime.election import LeaseLost
from kapstan.runtime.electionthread import ElectionThread, end_process
from kapstan.runtime.factory import InformerFactory
from kapstan.runtime.httpserver import bind_address
from kapstan.runtime.metrics import Registry
from kapstan.runtime.metricsserver import MetricsServer
from kapstan.runtime.options import ManagerOptions, parse
from kapstan.runtime.probes import Check, ProbeServer
from kapstan.runtime.reconcile import Reconciler
from kapstan.runtime.recorder import EventRecorder
from kapstan.runtime.runnables import Runnables, runnable_of
from kapstan.runtime.scope import Scope
from kapstan.runtime.watchdog import Watchdog

if TYPE_CHECKING:
    from kapstan.runtime.webhook.authority import Authority, AuthorityOptions
    from kapstan.runtime.webhook.server import WebhookServer

__all__ = ("Manager",)

log = logging.getLogger(__name__)

CACHE_WAIT = 60.0  # seconds until what does not need every cache may start
FLUSH = 2.0  # seconds for the last events to be sent


class Manager:
    """An operator: controllers, webhooks and whatever else runs, on one cluster or several."""

    def __init__(
        self,
        config: Config | None = None,
        options: ManagerOptions | None = None,
        *,
        on_lease_lost: Callable[[LeaseLost], None] = end_process,
    ) -> None:
        """Without a config, the one that `Config.load` finds; ConfigError says what is wrong with it."""
        self.options = options or ManagerOptions()
        self.config = config or Config.load(self.options.kubeconfig)
        self.metrics = Registry()
        self.cluster = Cluster(
            Client(self.config, observer=self._count_request),
            scope=Scope(namespaces=self.options.namespaces),
            scopes=self.options.scopes,
            uncached=self.options.uncached,
            metrics=self.metrics,
        )
        self.elected = asyncio.Event()
        self._on_lease_lost = on_lease_lost
        self._election: ElectionThread | None = None
        self._runnables = Runnables()
        self._watchdog = Watchdog(self.metrics)
        self._clusters: dict[Cluster, asyncio.Task[None] | None] = {self.cluster: None}
        self._caches: asyncio.TaskGroup | None = None
        self._webhooks: WebhookServer | None = None
        self._authority: Authority | None = None
        self._probes = self._make_probes()
        self._metrics_server = self._make_metrics_server()
        self._names: set[str] = set()

    @classmethod
    def from_flags(
        cls, arguments: Sequence[str] | None = None, *, parser: ArgumentParser | None = None, **options: Any
    ) -> Manager:
        """A manager as the command line and the environment want it; `options` are fields of ManagerOptions that the
        program decides itself. What is wrong with them ends the program with a sentence."""
        try:
            return cls(options=parse(arguments, parser, **options))
        except (ConfigError, ValueError) as error:
            raise SystemExit(f"error: {error}") from None

    # --- What controllers use ---------------------------------------------------------------------------------------

    @property
    def client(self) -> CachedClient:
        """Reads the cache, writes to the server."""
        return self.cluster.client

    @property
    def live(self) -> Client:
        """Reads the server, too."""
        return self.cluster.live

    @property
    def informers(self) -> InformerFactory:
        return self.cluster.informers

    def recorder(self, controller: str) -> EventRecorder:
        """Record events in the name of a controller."""
        return self.cluster.recorder(controller)

    @property
    def obstacle(self) -> str:
        """What keeps this manager from being elected, as a clause; empty if nothing is known to."""
        return self._election.obstacle if self._election is not None else ""

    @property
    def webhooks(self) -> WebhookServer:
        """The webhook server, which exists once something is to be served."""
        if self._webhooks is None:
            from kapstan.runtime.webhook.server import WebhookServer

            self._webhooks = WebhookServer(
                self.options.webhook_host, self.options.webhook_port, self.options.webhook_certificate, self.metrics
            )
        return self._webhooks

    def sign_webhooks(self, options: AuthorityOptions) -> None:
        """Serve webhooks with certificates of an authority of our own, which the API server is told to trust."""
        from kapstan.runtime.webhook.authority import Authority

        self._authority = Authority(self.live, options, self.options.webhook_certificate.folder)
        self.webhooks.use_certificate(self._authority.certificate)

    # --- Adding -----------------------------------------------------------------------------------------------------

    def add(self, *things: Any) -> None:
        """Add reconcilers, webhooks, clusters, and whatever else can run: before the start, or later."""
        for thing in things:
            if isinstance(thing, Reconciler):
                self.add_controller(thing)
            elif isinstance(thing, Cluster):
                self._add_cluster(thing)
            elif hasattr(thing, "__webhook__"):
                self._add_webhook(thing)
            else:
                self._runnables.add(runnable_of(thing))

    def add_controller(
        self, reconciler: Reconciler[Any], declaration: ControllerDeclaration | None = None
    ) -> Controller:
        """Build a controller from a declaration, by default the one that @controller made."""
        declaration = declaration or type(reconciler).__controller__
        if declaration is None:
            raise TypeError(f"decorate {type(reconciler).__qualname__} with @controller(Kind), or build it by steps")
        if declaration.name in self._names:
            raise ValueError(
                f"there already is a controller {declaration.name!r}: metrics could not tell the two apart; name one"
            )
        self._names.add(declaration.name)
        controller = build(self.cluster, reconciler, declaration)
        self._runnables.add(runnable_of(controller))
        return controller

    def add_healthz_check(self, name: str, check: Check) -> None:
        """Have `/healthz` ask a function, which returns or raises a complaint."""
        if self._probes is not None:
            self._probes.health[name] = check

    def add_readyz_check(self, name: str, check: Check) -> None:
        """Have `/readyz` ask a function, which returns or raises a complaint."""
        if self._probes is not None:
            self._probes.readiness[name] = check

    def remove(self, cluster: Cluster) -> None:
        """Forget a cluster that was added; its caches end."""
        task = self._clusters.pop(cluster, None)
        if task is not None:
            task.cancel()

    def _add_cluster(self, cluster: Cluster) -> None:
        self._clusters[cluster] = None
        if self._caches is not None:
            self._clusters[cluster] = self._caches.create_task(cluster.run(), name=f"cluster {cluster.name}")

    def _add_webhook(self, webhook: Any) -> None:
        if self.options.webhooks:
            self.webhooks.add(webhook)
        else:
            log.info("Webhooks are switched off: %s is not served", getattr(webhook, "__qualname__", webhook))

    # --- Running ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until a signal says stop. The program ends with a sentence if something is wrong."""
        from kapstan.runtime.process import run_process

        run_process(self.start, self.stop, self.options)

    async def start(self) -> None:
        """Run until `stop`, or until something fails."""
        self.elected.clear()
        election = self._election = self._make_election()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.live.close)
            await stack.enter_async_context(background(self._watchdog.run(), name="watchdog"))
            await self._start_servers(stack)
            await stack.enter_async_context(background(self._run_clusters(), name="caches"))
            stack.push_async_callback(self._flush_events)
            stack.push_async_callback(self._end_election, election)
            await self._runnables.run(lambda: self._open_stages(election), self.options.graceful_shutdown_timeout)
        self._raise_failures()

    def stop(self) -> None:
        """End everything in order."""
        self._runnables.stop()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Manager]:
        """Run inside the block, which begins when caches are filled. For tests and for programs that do more."""
        async with background(self.start(), name="manager") as task:
            await self.wait_started()
            yield self
            self.stop()
            await task

    async def wait_started(self) -> None:
        """Wait until caches are filled and what needs no election runs."""
        await self._runnables.wait_open()

    async def _start_servers(self, stack: AsyncExitStack) -> None:
        if self._probes is not None:
            self._probes.readiness.setdefault("informers", self._caches_complaint)
            await self._probes.start()
            stack.push_async_callback(self._probes.stop)
        if self._authority is not None:
            await self._authority.ensure()
            await stack.enter_async_context(background(self._authority.run(), name="webhook authority"))
        for server in (self._metrics_server, self._webhooks):
            if server is not None:
                await server.start()
                await stack.enter_async_context(background(server.run(), name=type(server).__name__))

    async def _run_clusters(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._caches = group
            for cluster in list(self._clusters):
                self._add_cluster(cluster)
            try:
                await asyncio.Event().wait()
            finally:
                self._caches = None

    async def _open_stages(self, election: ElectionThread | None) -> None:
        await self._wait_for_caches()
        self._runnables.open("always")
        if election is not None:
            await election.start()
            await election.wait_elected()
        self.elected.set()
        self._runnables.open("elected")
        if election is not None:
            await election.wait_lost()

    async def _wait_for_caches(self) -> None:
        """Not for ever: a kind that we may not list shall not keep the other controllers from their work."""
        try:
            async with asyncio.timeout(CACHE_WAIT):
                for cluster in list(self._clusters):
                    await cluster.wait_synced()
        except TimeoutError:
            log.warning("Starting although not every cache is filled: %s", self._caches_complaint())

    async def _end_election(self, election: ElectionThread | None) -> None:
        if election is not None:
            await election.stop()

    async def _flush_events(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH):
                for cluster in list(self._clusters):
                    await cluster.flush_events()

    def _raise_failures(self) -> None:
        failures = self._runnables.failures
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise ExceptionGroup("the manager has ended", failures)

    # --- Parts ------------------------------------------------------------------------------------------------------

    def _make_probes(self) -> ProbeServer | None:
        address = bind_address(self.options.health_probe_bind_address)
        return None if address is None else ProbeServer(address, self._watchdog)

    def _make_metrics_server(self) -> MetricsServer | None:
        address = bind_address(self.options.metrics_bind_address)
        if address is None:
            return None
        options = self.options
        return MetricsServer(
            address, self.metrics, self.live, secure=options.metrics_secure, certificate=options.metrics_certificate
        )

    def _make_election(self) -> ElectionThread | None:
        options = self.options
        if not options.leader_election:
            return None
        if not options.leader_election_id:
            raise ConfigError("leader election needs a name: give leader_election_id")
        return ElectionThread(
            self.config,
            options.leader_election_namespace or self.config.namespace,
            (lease,) if isinstance(lease := options.leader_election_id, str) else lease,
            f"{socket.gethostname()}_{uuid.uuid4()}",
            times=options.leader_election_times,
            release=options.leader_election_release,
            on_lost=self._on_lease_lost,
            metrics=self.metrics,
        )

    def _caches_complaint(self) -> str:
        return "; ".join(filter(None, (cluster.trouble() for cluster in self._clusters)))

    def _count_request(self, method: str, host: str, code: str, seconds: float) -> None:
        self.metrics.counter(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            ["code", "method", "host"],
        ).labels(code, method, host).inc()
