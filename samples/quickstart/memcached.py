"""Memcached: one kind, one reconciler, in one file. `python -m samples.quickstart.memcached` runs it on a cluster."""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import Meta, field

from kapstan import CEL, Column, ListMap, Manager, Model, Reconciler, Resource, Scale, controller, resource
from kapstan.k8s import apps_v1 as apps
from kapstan.k8s import core_v1 as core
from kapstan.k8s import meta_v1 as meta
from kapstan.machinery.conditions import set_condition
from kapstan.machinery.markers import Default

IMAGE = os.environ.get("MEMCACHED_IMAGE", "memcached:1.6")


class MemcachedSpec(Model):
    """What is wanted."""

    size: Annotated[meta.Int32, Meta(ge=1, le=3), Default(1)] | None = None
    """How many instances."""
    container_port: Annotated[meta.Int32, Meta(ge=1, le=65535), Default(11211)] | None = None
    """The port that they listen on."""
    tier: Annotated[str, CEL("self == oldSelf", message="tier is immutable")] | None = None
    """What it is for; it cannot be changed."""


class MemcachedStatus(Model):
    """What was last seen."""

    conditions: Annotated[list[meta.Condition], ListMap("type")] = field(default_factory=list)
    """Available."""
    ready: meta.Int32 | None = None
    """How many instances are ready."""


@resource(
    group="cache.example.com",
    version="v1alpha1",
    short_names=["mc"],
    scale=Scale(spec=".spec.size", status=".status.ready"),
    columns=[Column("Size", ".spec.size", "integer"), Column("Ready", ".status.ready", "integer"), Column.age()],
)
class Memcached(Resource):
    """A group of memcached instances."""

    spec: MemcachedSpec = field(default_factory=MemcachedSpec)
    """What is wanted."""
    status: MemcachedStatus = field(default_factory=MemcachedStatus)
    """What was last seen."""


@controller(Memcached, owns=[apps.Deployment], max_concurrent_reconciles=4)
class MemcachedReconciler(Reconciler[Memcached]):
    """Keeps one Deployment per Memcached."""

    async def reconcile(self, memcached: Memcached) -> None:
        deployment = await self.client.apply(desired_deployment(memcached), owner=memcached)
        ready = deployment.status.ready_replicas or 0
        async with self.status(memcached) as status:
            status.ready = ready
            set_condition(
                status.conditions,
                "Available",
                ready == memcached.spec.size,
                reason="Reconciled",
                message=f"{ready} of {memcached.spec.size} instances are ready",
            )

    async def finalize(self, memcached: Memcached) -> None:
        self.events.normal(memcached, "Deleting", f"{memcached.name} is being deleted")


def desired_deployment(memcached: Memcached) -> apps.Deployment:
    labels = {"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": memcached.name}
    container = core.Container(
        name="memcached",
        image=IMAGE,
        command=["memcached", "--memory-limit=64", "-o", "modern", "-v"],
        ports=[core.ContainerPort(name="memcached", container_port=memcached.spec.container_port or 11211)],
    )
    return apps.Deployment(
        metadata=meta.ObjectMeta(name=memcached.name, namespace=memcached.namespace),
        spec=apps.DeploymentSpec(
            replicas=memcached.spec.size,
            selector=meta.LabelSelector(match_labels=labels),
            template=core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels=labels), spec=core.PodSpec(containers=[container])
            ),
        ),
    )


def main() -> None:
    manager = Manager.from_flags(leader_election_id="quickstart.cache.example.com")
    manager.add(MemcachedReconciler())
    manager.run()


if __name__ == "__main__":
    main()
