# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""Bar: the kind, as the API serves it. After a change: `make manifests`."""

from typing import Annotated

from kapstan import Column, Default, Int32, Model, Resource, resource
from msgspec import Meta, field


class BarSpec(Model):
    """What is wanted of a Bar."""

    deployment_name: Annotated[str, Meta(min_length=1, max_length=253)] | None = None
    """The name of the Deployment. That of the Bar if absent."""
    replicas: Annotated[Int32, Meta(ge=1, le=10), Default(1)] | None = None
    """How many pods the Deployment has."""


class BarStatus(Model):
    """What was seen of a Bar."""

    available_replicas: Int32 | None = None
    """How many pods are available."""


@resource(
    group="samplecontroller.example.com",
    version="v1alpha1",
    columns=[
        Column("Deployment", ".spec.deploymentName"),
        Column("Replicas", ".spec.replicas", "integer"),
        Column("Available", ".status.availableReplicas", "integer"),
        Column.age(),
    ],
)
class Bar(Resource):
    """Bar is the schema of the bars API: a Deployment of nginx, by another name."""

    spec: BarSpec = field(default_factory=BarSpec)
    status: BarStatus = field(default_factory=BarStatus)
