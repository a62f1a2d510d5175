"""For the client's tests: `api` is a client of the environment, `namespace` one of the test's own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from msgspec import field

from kapstan.client import Client, NoKindMatch
from kapstan.k8s import core_v1 as core
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.markers import Default
from kapstan.machinery.meta import Int32, ObjectMeta
from kapstan.machinery.model import Model, Resource, Scale
from kapstan.machinery.scheme import resource
from kapstan.testing.environment import Environment

CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
WIDGET = GroupVersionKind("client.kapstan.test", "v1", "Widget")


class Part(Model):
    name: str


class WidgetSpec(Model):
    size: Annotated[Int32 | None, Default(1)] = None
    parts: list[Part] = field(default_factory=list)


class WidgetStatus(Model):
    ready: Int32 | None = None
    phase: str = ""


@resource(
    group=WIDGET.group,
    version=WIDGET.version,
    scale=Scale(spec=".spec.size", status=".status.ready"),
    short_names=["wi"],
)
class Widget(Resource):
    """A kind of the tests. The API knows more of it (`spec.note`, `spec.parts[].note`) than this class does."""

    spec: WidgetSpec = field(default_factory=WidgetSpec)
    status: WidgetStatus = field(default_factory=WidgetStatus)


def widget_crd() -> dict[str, Any]:
    note = {"type": "string"}
    part = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "note": note}}
    spec = {"size": {"type": "integer", "default": 1}, "note": note, "parts": {"type": "array", "items": part}}
    status = {"ready": {"type": "integer"}, "phase": {"type": "string"}, "note": note}
    properties = {
        "spec": {"type": "object", "properties": spec},
        "status": {"type": "object", "properties": status},
    }
    version = {
        "name": WIDGET.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"},
        },
    }
    names = {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
        "shortNames": ["wi"],
    }
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": f"widgets.{WIDGET.group}"},
        "spec": {"group": WIDGET.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


@pytest.fixture
async def api(env: Environment) -> AsyncIterator[Client]:
    async with Client(env.config, field_manager="tests") as client:
        yield client


@pytest.fixture
async def namespace(api: Client) -> str:
    """A namespace that nobody else uses."""
    name = f"client-{uuid.uuid4().hex[:10]}"
    await api.create(core.Namespace(metadata=ObjectMeta(name=name)))
    return name


@pytest.fixture
async def widgets(api: Client) -> type[Widget]:
    """The kind Widget, installed."""
    await install(api, widget_crd())
    return Widget


async def install(api: Client, crd: dict[str, Any]) -> None:
    """Apply a CRD and wait until its kind is served, which is a little later than its status says."""
    await api.apply(crd)
    gvk = GroupVersionKind(crd["spec"]["group"], crd["spec"]["versions"][0]["name"], crd["spec"]["names"]["kind"])
    async with asyncio.timeout(60):
        while True:
            try:
                await api.discovery.find(gvk)
                return
            except NoKindMatch:
                await asyncio.sleep(0.05)
