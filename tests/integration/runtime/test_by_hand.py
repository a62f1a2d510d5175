"""A controller written by hand from informers and a work queue, as client-go's sample controller is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapstan import (
    Client,
    InformerFactory,
    KapstanError,
    LabelSelector,
    Model,
    ObjectKey,
    ObjectMeta,
    Patch,
    Resource,
    Scope,
    WorkQueue,
    bucket,
    exponential,
    max_of,
    resource,
)
from kapstan.k8s.apps_v1 import Deployment, DeploymentSpec
from kapstan.k8s.core_v1 import Container, PodSpec, PodTemplateSpec
from kapstan.machinery.owners import set_controller
from kapstan.runtime.background import background
from kapstan.testing.installing import install


class BarSpec(Model):
    deployment_name: str
    replicas: int | None = None


class BarStatus(Model):
    available_replicas: int = 0


@resource(group="bar.kapstan.dev", version="v1alpha1", plural="bars")
class Bar(Resource):
    spec: BarSpec
    status: BarStatus | None = None


def desired_deployment(bar: Bar) -> Deployment:
    labels = {"app": "nginx", "controller": bar.name}
    deployment = Deployment(
        metadata=ObjectMeta(name=bar.spec.deployment_name, namespace=bar.namespace),
        spec=DeploymentSpec(
            replicas=bar.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=PodSpec(containers=[Container(name="nginx", image="nginx:latest")]),
            ),
        ),
    )
    set_controller(bar, deployment)
    return deployment


class Controller:
    """Keeps a Deployment for each Bar."""

    def __init__(self, client: Client, factory: InformerFactory) -> None:
        self.client, self.factory = client, factory
        self.bars, self.deployments = factory[Bar], factory[Deployment]
        self.queue: WorkQueue[ObjectKey] = WorkQueue(max_of(exponential(0.005, 1000), bucket(50, 300)))
        self.bars.on_change(lambda old, new: self.queue.add((new or old).key))  # type: ignore[union-attr]
        self.deployments.on_change(self.handle_owned)

    def handle_owned(self, old: Deployment | None, new: Deployment | None) -> None:
        if old and new and old.metadata.resource_version == new.metadata.resource_version:
            return
        deployment = new or old
        assert deployment is not None
        if (reference := deployment.controller_ref()) and reference.kind == "Bar":
            self.queue.add(ObjectKey(deployment.namespace, reference.name))

    async def run(self, workers: int = 2) -> None:
        async with self.factory.running(), asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self.worker())

    async def worker(self) -> None:
        async for item in self.queue:
            async with item:
                await self.sync(item.key)

    async def sync(self, key: ObjectKey) -> None:
        bar = self.bars.lister(key.namespace).get(key.name)
        if bar is None:
            return
        deployment = self.deployments.lister(bar.namespace).get(bar.spec.deployment_name)
        if deployment is None:
            deployment = await self.client.create(desired_deployment(bar))
        if not deployment.is_controlled_by(bar):
            raise KapstanError(f"{deployment} already exists and is not managed by {bar}")
        if bar.spec.replicas not in (None, deployment.spec.replicas):
            deployment = await self.client.patch(deployment, Patch.merge({"spec": {"replicas": bar.spec.replicas}}))
        available = deployment.status.available_replicas or 0
        await self.client.patch(bar, Patch.merge({"status": {"availableReplicas": available}}), subresource="status")


async def until(client: Client, kind: Any, name: str, namespace: str, condition: Any) -> Any:
    async with asyncio.timeout(60):
        while True:
            found = await client.find(kind, name, namespace)
            if found is not None and condition(found):
                return found
            await asyncio.sleep(0.02)


async def test_the_sample_controller_works(client: Client, namespace: str, caplog: pytest.LogCaptureFixture) -> None:
    await install(client, [Bar])
    factory = InformerFactory(client, scope=Scope(namespaces=(namespace,)))
    controller = Controller(client, factory)
    async with background(controller.run()):
        await controller.bars.wait_synced()
        bar = Bar(
            metadata=ObjectMeta(name="example", namespace=namespace),
            spec=BarSpec(deployment_name="example-bar", replicas=1),
        )
        bar = await client.create(bar)
        deployment = await until(client, Deployment, "example-bar", namespace, lambda one: one.spec.replicas == 1)
        assert deployment.is_controlled_by(bar)

        await client.patch(bar, Patch.merge({"spec": {"replicas": 2}}))
        await until(client, Deployment, "example-bar", namespace, lambda one: one.spec.replicas == 2)

        status = {"status": {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}}
        await client.patch(deployment, Patch.merge(status), subresource="status")
        await until(client, Bar, "example", namespace, lambda one: one.status and one.status.available_replicas == 2)

        await client.create(
            Bar(metadata=ObjectMeta(name="thief", namespace=namespace), spec=BarSpec(deployment_name="example-bar"))
        )
        async with asyncio.timeout(60):
            while "not managed by Bar" not in caplog.text:  # noqa: ASYNC110 - the log is no event
                await asyncio.sleep(0.02)
        assert controller.queue.retries(ObjectKey(namespace, "thief")) > 0
