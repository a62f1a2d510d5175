# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""Memcached: the kind, as the API serves it. After a change: `make manifests`."""

from typing import Annotated

from kapstan import Column, Condition, Default, Int32, ListMap, Model, Resource, Scale, resource
from msgspec import Meta, field


class MemcachedSpec(Model):
    """What is wanted of a Memcached."""

    size: Annotated[Int32, Meta(ge=1, le=3), Default(1)] | None = None
    """How many instances there are."""
    container_port: Annotated[Int32, Meta(ge=1, le=65535), Default(11211)] | None = None
    """The port that each instance listens on."""


class MemcachedStatus(Model):
    """What was seen of a Memcached."""

    instances: Int32 | None = None
    """How many instances are available."""
    selector: str | None = None
    """Which pods they are, as a label selector."""
    conditions: Annotated[list[Condition], ListMap("type")] = field(default_factory=list)
    """`Available`: all instances are there. `Degraded`: something keeps the operator from its work."""


@resource(
    group="cache.example.com",
    version="v1alpha1",
    scale=Scale(spec=".spec.size", status=".status.instances", selector=".status.selector"),
    columns=[
        Column("Size", ".spec.size", "integer"),
        Column("Available", '.status.conditions[?(@.type=="Available")].status'),
        Column.age(),
    ],
)
class Memcached(Resource):
    """Memcached is the schema of the memcacheds API."""

    spec: MemcachedSpec = field(default_factory=MemcachedSpec)
    status: MemcachedStatus = field(default_factory=MemcachedStatus)
