# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""The controller of Bar in client-go style: informers, listers, a work queue and handlers, wired by hand.

It does what `controller/bar.py` does, and shows what a manager does for it there: `python -m bar_operator.clientgo`.
"""

import argparse
import asyncio
import signal
import sys

from kapstan import Client, Config, InformerFactory, KapstanError, ObjectKey, WorkQueue, bucket, exponential, max_of
from kapstan.k8s.apps_v1 import Deployment
from kapstan.machinery.owners import set_controller
from kapstan.runtime.background import background
from kapstan.runtime.declaration import Rule
from kapstan.runtime.recorder import EventBroadcaster, EventRecorder

from bar_operator.api.v1alpha1.bar import Bar, BarStatus
from bar_operator.clientset.clientset import Clientset
from bar_operator.controller.desired import deployment_name, desired_deployment

__all__ = ("Controller", "run")

GROUP = "samplecontroller.example.com"
API_VERSION = f"{GROUP}/v1alpha1"


class Controller:
    """Keeps a Deployment for each Bar."""

    # What it may do: `make manifests` reads it. A reconciler says the same with @rbac.
    __rbac__ = (
        Rule(groups=(GROUP,), resources=("bars",), verbs=("get", "list", "watch")),
        Rule(groups=(GROUP,), resources=("bars/status",), verbs=("patch",)),
        Rule(groups=(GROUP,), resources=("bars/finalizers",), verbs=("update",)),
        Rule(groups=("apps",), resources=("deployments",), verbs=("get", "list", "watch", "create", "patch", "delete")),
        Rule(groups=("events.k8s.io",), resources=("events",), verbs=("create", "patch")),
    )

    def __init__(self, clientset: Clientset, factory: InformerFactory, events: EventRecorder) -> None:
        self.clientset, self.factory, self.events = clientset, factory, events
        self.bars, self.deployments = factory[Bar], factory[Deployment]
        self.queue = WorkQueue[ObjectKey](max_of(exponential(0.005, 1000), bucket(50, 300)))
        self.bars.on_change(self.enqueue_bar)
        self.deployments.on_change(self.handle_deployment)

    def enqueue_bar(self, old: Bar | None, new: Bar | None) -> None:
        """A Bar came, changed or went."""
        bar = new or old
        if bar is not None:
            self.queue.add(bar.key)

    def handle_deployment(self, old: Deployment | None, new: Deployment | None) -> None:
        """A Deployment came, changed or went: look after the Bar that it belongs to."""
        if old and new and old.metadata.resource_version == new.metadata.resource_version:
            return  # told again, unchanged
        for deployment in (old, new):
            owner = deployment.controller_ref() if deployment is not None else None
            if deployment is not None and owner is not None and (owner.api_version, owner.kind) == (API_VERSION, "Bar"):
                self.queue.add(ObjectKey(deployment.namespace, owner.name))

    async def run(self, workers: int = 2) -> None:
        """Work until cancelled, once the caches are filled."""
        async with self.factory.running(), asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self.work())
            try:
                await asyncio.Event().wait()
            finally:
                self.queue.shutdown()

    async def work(self) -> None:
        """Take one key after the other. What fails is tried again, later each time."""
        async for item in self.queue:
            async with item:
                await self.sync(item.key)

    async def sync(self, key: ObjectKey) -> None:
        """Make the cluster match one Bar."""
        bar = self.bars.lister(key.namespace).get(key.name)
        if bar is None or bar.deleting:
            return  # what it owned goes with it
        deployment = await self.deploy(bar)
        await self.delete_former(bar)
        await self.update_status(bar, deployment)
        self.events.normal(bar, "Synced", "Bar synced successfully")

    async def deploy(self, bar: Bar) -> Deployment:
        """The Deployment, created or changed if need be. One that belongs to somebody else is never taken over."""
        api = self.clientset.apps_v1.deployments(bar.namespace)
        wanted = desired_deployment(bar)
        found = self.deployments.lister(bar.namespace).get(wanted.name)
        if found is None:
            set_controller(bar, wanted)
            return await api.create(wanted)
        if not found.is_controlled_by(bar):
            message = f"Resource {found.name!r} already exists and is not managed by Bar"
            self.events.warning(bar, "ErrResourceExists", message)
            raise KapstanError(message)
        if found.spec.replicas != wanted.spec.replicas or images_of(found) != images_of(wanted):
            found.spec.replicas, found.spec.template = wanted.spec.replicas, wanted.spec.template
            return await api.update(found)
        return found

    async def delete_former(self, bar: Bar) -> None:
        """Delete Deployments of other names, found by an index on their owner: the Bar was renamed."""
        for deployment in self.deployments.lister(bar.namespace).owned_by(bar):
            if deployment.name != deployment_name(bar) and deployment.is_controlled_by(bar):
                await self.clientset.apps_v1.deployments(bar.namespace).delete(deployment.name, uid=deployment.uid)

    async def update_status(self, bar: Bar, deployment: Deployment) -> None:
        """Say how many pods are available, through the status subresource."""
        available = deployment.status.available_replicas or 0
        if bar.status.available_replicas != available:
            status = BarStatus(available_replicas=available)
            api = self.clientset.samplecontroller_v1alpha1.bars(bar.namespace)
            await api.update_status(bar.replace(status=status))


def images_of(deployment: Deployment) -> list[str | None]:
    """The images that a Deployment runs."""
    spec = deployment.spec.template.spec
    return [container.image for container in spec.containers] if spec is not None else []


async def run(client: Client) -> None:
    """Run the controller until cancelled."""
    broadcaster = EventBroadcaster(client)
    controller = Controller(Clientset(client), InformerFactory(client), broadcaster.recorder("bar-controller"))
    async with background(broadcaster.run(), name="events"):
        await controller.run()


async def main() -> None:
    """Run until a signal says stop."""
    parser = argparse.ArgumentParser(description="The controller of Bar, in client-go style.")
    parser.add_argument("--kubeconfig", default="", help="Path to a kubeconfig. Only needed out of cluster.")
    config = Config.load(parser.parse_args().kubeconfig)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Client(config) as client, background(run(client), name="controller"):
        await stop.wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KapstanError as error:
        sys.exit(f"error: {error}")
