"""A whole operator on both API servers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from msgspec import Meta, field

from kapstan import (
    Client,
    Cluster,
    Condition,
    Config,
    GroupVersionKind,
    Int32,
    LabelSelector,
    ListMap,
    Manager,
    ManagerOptions,
    Model,
    ObjectKey,
    ObjectMeta,
    Patch,
    Reconciler,
    Request,
    Resource,
    Result,
    Scope,
    controller,
    enqueue_object,
    generation_changed,
    metadata_of,
    new_controller_managed_by,
    resource,
    watches,
)
from kapstan.k8s.apps_v1 import Deployment, DeploymentSpec
from kapstan.k8s.core_v1 import ConfigMap, Container, ContainerPort, PodSpec, PodTemplateSpec
from kapstan.k8s.events_v1 import Event
from kapstan.machinery.owners import set_controller
from kapstan.runtime import log as logs
from kapstan.testing.installing import install

Eventually = Callable[[Callable[[], object]], Awaitable[None]]


class MemcachedSpec(Model):
    container_port: Annotated[Int32, Meta(ge=1, le=65535)] = 0
    size: Annotated[Int32, Meta(ge=0, le=10)] = 0


class MemcachedStatus(Model):
    conditions: Annotated[list[Condition], ListMap("type")] = field(default_factory=list)
    ready: Int32 = 0


@resource(group="cache.kapstan.dev", version="v1alpha1", plural="memcacheds")
class Memcached(Resource):
    spec: MemcachedSpec = field(default_factory=MemcachedSpec)
    status: MemcachedStatus = field(default_factory=MemcachedStatus)


def memcached(name: str, namespace: str, **spec: Any) -> Memcached:
    return Memcached(metadata=ObjectMeta(name=name, namespace=namespace), spec=MemcachedSpec(**spec))


def desired_deployment(owner: Memcached) -> Deployment:
    labels = {"app.kubernetes.io/instance": owner.name}
    port = ContainerPort(container_port=owner.spec.container_port)
    container = Container(name="memcached", image="memcached", ports=[port])
    return Deployment(
        metadata=ObjectMeta(name=owner.name, namespace=owner.namespace),
        spec=DeploymentSpec(
            replicas=owner.spec.size,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[container])),
        ),
    )


@controller(Memcached, owns=[Deployment], max_concurrent_reconciles=2)
class MemcachedReconciler(Reconciler[Memcached]):
    def __init__(self) -> None:
        self.reconciled: list[str] = []
        self.finalized: list[str] = []

    async def reconcile(self, mc: Memcached) -> Result:
        self.reconciled.append(mc.name)
        deployment = await self.client.apply(desired_deployment(mc), owner=mc)
        ready = deployment.status.ready_replicas or 0
        async with self.status(mc) as status:
            status.ready = ready
            status.set_condition("Available", ready == mc.spec.size, reason="Reconciling", message=f"{ready} ready")
        return Result()

    async def finalize(self, mc: Memcached) -> None:
        self.finalized.append(mc.name)
        self.events.warning(mc, "Deleting", f"{mc.name} is being deleted")

    @watches(ConfigMap, when=generation_changed)
    async def users_of(self, config: ConfigMap) -> Iterable[Request]:
        found = await self.client.list(Memcached, config.namespace)
        return [one.key for one in found if config.name == "settings"]


_CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


@pytest.fixture
async def memcacheds(client: Client) -> None:
    await install(client, [Memcached])


@asynccontextmanager
async def running(config: Config, namespace: str, *things: Any, **options: Any) -> AsyncIterator[Manager]:
    manager = Manager(config, ManagerOptions(namespaces=(namespace,), **options))
    manager.add(*things)
    async with manager.running():
        yield manager


async def until(client: Client, kind: Any, name: str, namespace: str, condition: Callable[[Any], object]) -> Any:
    async with asyncio.timeout(60):
        while True:
            found = await client.find(kind, name, namespace)
            if found is not None and condition(found):
                return found
            await asyncio.sleep(0.02)


async def gone(client: Client, kind: Any, name: str, namespace: str) -> None:
    async with asyncio.timeout(60):
        while await client.find(kind, name, namespace):  # noqa: ASYNC110 - the server is asked, not the watch
            await asyncio.sleep(0.02)


async def test_an_operator_does_its_work(config: Config, client: Client, namespace: str, memcacheds: None) -> None:
    reconciler = MemcachedReconciler()
    async with running(config, namespace, reconciler):
        await client.create(memcached("sample", namespace, size=3, container_port=11211))
        deployment = await until(client, Deployment, "sample", namespace, lambda one: one.spec.replicas == 3)
        found = await until(client, Memcached, "sample", namespace, lambda one: one.status.conditions)
        assert deployment.is_controlled_by(found)
        assert found.metadata.finalizers == ["cache.kapstan.dev/finalizer"]
        (available,) = found.status.conditions
        assert (available.type, available.status, available.observed_generation) == ("Available", "False", 1)

        await client.patch(
            deployment, Patch.merge({"status": {"replicas": 3, "readyReplicas": 3}}), subresource="status"
        )
        found = await until(client, Memcached, "sample", namespace, lambda one: one.status.ready == 3)
        assert found.status.conditions[0].status == "True"

        await client.patch(deployment, Patch.merge({"spec": {"replicas": 7}}))
        await until(client, Deployment, "sample", namespace, lambda one: one.spec.replicas == 3)

        await client.delete(found)
        await gone(client, Memcached, "sample", namespace)
        assert reconciler.finalized == ["sample"]
    events = await client.list(Event, namespace)
    assert [(one.reason, one.type, one.reporting_controller) for one in events] == [
        ("Deleting", "Warning", "memcached")
    ]


async def test_an_operator_at_rest_is_at_rest(
    config: Config, client: Client, namespace: str, memcacheds: None, eventually: Eventually
) -> None:
    """Own writes come back as events; what they wake finds nothing to do, and that is the end of it."""
    manager = Manager(config, ManagerOptions(namespaces=(namespace,)))
    running = manager.add_controller(MemcachedReconciler())
    informers = [manager.informers.shared(kind) for kind in (Memcached, Deployment)]
    async with manager.running():
        await client.create(memcached("sample", namespace, size=1, container_port=1))
        await until(client, Memcached, "sample", namespace, lambda one: one.status.conditions)
        await eventually(lambda: not any(informer._mirror._told for informer in informers))
        await eventually(lambda: not len(running.queue) and not running.queue.running())
        requests = manager.metrics.counter("rest_client_requests_total", "").items()
        writes = sum(count.value for labels, count in requests if labels[1] != "GET")
    assert writes == 3, "finalizer, apply, status"


async def test_what_is_mapped_wakes_others(
    config: Config, client: Client, namespace: str, memcacheds: None, eventually: Eventually
) -> None:
    reconciler = MemcachedReconciler()
    async with running(config, namespace, reconciler):
        await client.create(memcached("sample", namespace, container_port=1))
        await until(client, Memcached, "sample", namespace, lambda one: one.status.conditions)
        before = len(reconciler.reconciled)
        await client.create(ConfigMap(metadata=ObjectMeta(name="settings", namespace=namespace)))
        await eventually(lambda: len(reconciler.reconciled) > before)


async def test_a_plain_def_runs_in_a_thread(
    config: Config, client: Client, namespace: str, eventually: Eventually
) -> None:
    seen: dict[str, Any] = {}

    @controller(ConfigMap, name="blocking")
    class Blocking(Reconciler[ConfigMap]):
        def reconcile(self, config_map: ConfigMap) -> None:
            if config_map.name == "a":
                seen["thread"] = threading.current_thread() is not threading.main_thread()
                seen["fields"] = logs.current_fields()["controller"]
                seen["read"] = self.wait(self.live.get(ConfigMap, "a", config_map.namespace)).uid

    async with running(config, namespace, Blocking()):
        made = await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
        await eventually(lambda: "read" in seen)
    assert seen == {"thread": True, "fields": "blocking", "read": made.uid}


async def test_a_reconciler_may_be_asked_by_key(
    config: Config, client: Client, namespace: str, eventually: Eventually
) -> None:
    seen: list[Request] = []

    class ByKey(Reconciler[Request]):
        async def reconcile(self, request: Request) -> None:
            seen.append(request)
            if request.name == "a":
                await self.client.find(ConfigMap, request.name, request.namespace)

    manager = Manager(config, ManagerOptions(namespaces=(namespace,)))
    new_controller_managed_by(manager).for_(ConfigMap).named("by-key").with_options(
        max_concurrent_reconciles=3
    ).complete(ByKey())
    async with manager.running():
        made = await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
        await eventually(lambda: ObjectKey(namespace, "a") in seen)
        seen.clear()
        await client.delete(made)
        await eventually(lambda: ObjectKey(namespace, "a") in seen)


async def test_untyped_objects_are_reconciled_and_finalized(
    config: Config, client: Client, namespace: str, eventually: Eventually
) -> None:
    gvk = ConfigMap.__resource__.gvk
    finalized: list[str] = []

    class Untyped(Reconciler[dict[str, Any]]):
        async def reconcile(self, obj: dict[str, Any]) -> None:
            assert obj["kind"] == "ConfigMap"

        async def finalize(self, obj: dict[str, Any]) -> None:
            finalized.append(obj["metadata"]["name"])

    manager = Manager(config, ManagerOptions(namespaces=(namespace,)))
    new_controller_managed_by(manager).for_(gvk).named("untyped").complete(Untyped())
    async with manager.running():
        made = await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
        await until(client, ConfigMap, "a", namespace, lambda one: one.metadata.finalizers)
        await client.delete(made)
        await eventually(lambda: finalized == ["a"])
        await gone(client, ConfigMap, "a", namespace)


async def test_controllers_can_be_added_while_the_manager_runs(
    config: Config, client: Client, namespace: str, eventually: Eventually
) -> None:
    seen: list[str] = []

    @controller(ConfigMap, name="late")
    class Late(Reconciler[ConfigMap]):
        async def reconcile(self, config_map: ConfigMap) -> None:
            seen.append(config_map.name)

    await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
    async with running(config, namespace) as manager:
        manager.add(Late())
        await eventually(lambda: "a" in seen)
        with pytest.raises(ValueError, match="already is a controller 'late'"):
            manager.add(Late())


async def test_a_finalizer_stays_until_finalize_is_done(
    config: Config, client: Client, namespace: str, eventually: Eventually
) -> None:
    calls = 0

    @controller(ConfigMap, name="patient", finalizer="test.kapstan.dev/patient")
    class Patient(Reconciler[ConfigMap]):
        async def reconcile(self, config_map: ConfigMap) -> None: ...

        async def finalize(self, config_map: ConfigMap) -> Result | None:
            nonlocal calls
            calls += 1
            if calls == 1:
                raise ConnectionError("the cloud is away")
            return Result(requeue_after=0.05) if calls < 4 else None

    async with running(
        config, namespace, Patient(), scopes={ConfigMap: Scope(namespaces=(namespace,), fields={"metadata.name": "a"})}
    ):
        made = await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
        await until(client, ConfigMap, "a", namespace, lambda one: one.metadata.finalizers)
        await client.delete(made)
        await eventually(lambda: calls == 4)
        await gone(client, ConfigMap, "a", namespace)
    assert calls == 4


@resource(group="later.kapstan.dev", version="v1", plural="laters")
class Later(Resource):
    pass


async def test_a_controller_of_a_kind_that_appears_later_waits_without_breaking_others(
    config: Config, client: Client, namespace: str, eventually: Eventually
) -> None:
    seen: list[str] = []

    @controller(Later)
    class LaterReconciler(Reconciler[Later]):
        async def reconcile(self, later: Later) -> None:
            seen.append(later.name)

    @controller(ConfigMap, name="others")
    class Others(Reconciler[ConfigMap]):
        async def reconcile(self, config_map: ConfigMap) -> None:
            seen.append(config_map.name)

    await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
    async with running(config, namespace, LaterReconciler(), Others()):
        await eventually(lambda: "a" in seen)
        await install(client, [Later])
        await client.create(Later(metadata=ObjectMeta(name="l", namespace=namespace)))
        await eventually(lambda: "l" in seen)
    await client.delete(_CRD, "laters.later.kapstan.dev")


async def test_clusters_come_and_go_while_the_manager_runs(
    config: Config, client: Client, namespace: str, eventually: Eventually
) -> None:
    """A controller of one cluster is woken by another: here, the same API server by another way."""
    seen: list[str] = []
    woken: list[Request] = []
    other = Cluster(client, name="other", scope=Scope(namespaces=(namespace,)))

    @controller(Later, name="watcher", sources=[other.source(ConfigMap, enqueue_object)])
    class Watcher(Reconciler[Request]):
        async def reconcile(self, request: Request) -> None:
            woken.append(request)
            found = await other.client.find(ConfigMap, request.name, request.namespace)
            seen.append(found.name if found else "")

    await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
    async with running(config, namespace) as manager:
        manager.add(other)
        await other.wait_synced()
        definition = new_controller_managed_by(manager).for_(ConfigMap).named("watcher")
        definition.watches_source(other.source(ConfigMap, enqueue_object)).complete(Watcher())
        await eventually(lambda: "a" in seen)
        manager.remove(other)
        made = len(woken)
        await client.create(ConfigMap(metadata=ObjectMeta(name="b", namespace=namespace)))
        await eventually(lambda: len(woken) > made)
        assert other.informers.find(ConfigMap) is not None
        assert ObjectKey(namespace, "b") in woken, "by its own cluster's informer"
        assert len(other.cache.factory.shared(ConfigMap).store) < len(manager.informers.shared(ConfigMap).store)


async def test_a_runnable_that_fails_ends_the_manager(config: Config, namespace: str) -> None:
    async def fails() -> None:
        raise ConnectionError("the licence server is away")

    manager = Manager(config, ManagerOptions(namespaces=(namespace,)))
    manager.add(fails)
    with pytest.raises(ConnectionError, match="licence server"):
        await manager.start()


async def test_metadata_is_enough_to_be_woken(
    config: Config, client: Client, namespace: str, memcacheds: None, eventually: Eventually
) -> None:
    """`owns=[metadata_of(Deployment)]` caches next to nothing of the deployments."""
    seen: list[str] = []

    @controller(Memcached, owns=[metadata_of(Deployment)], name="thrifty")
    class Thrifty(Reconciler[Memcached]):
        async def reconcile(self, mc: Memcached) -> None:
            if not seen:
                await self.client.create(owned_by(mc, desired_deployment(mc)))
            seen.append(mc.name)

    async with running(config, namespace, Thrifty()) as manager:
        await client.create(memcached("sample", namespace, size=1, container_port=1))
        await eventually(lambda: len(seen) >= 2)
        informer = manager.informers.find(metadata_of(Deployment))
        assert informer is not None and informer.metadata_only
        await eventually(lambda: len(informer.store) == 1)
        assert all(b"template" not in one.data for one in informer.store)


def owned_by(owner: Memcached, deployment: Deployment) -> Deployment:
    set_controller(owner, deployment)
    return deployment
