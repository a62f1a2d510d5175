"""Operators in a test: webhooks are called from the first line on, conversions convert, and rights are the least."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from msgspec import field

from kapstan import Manager, Model, Reconciler, Resource, controller, convert, defaulter, rbac, resource, validator
from kapstan.client import Patch
from kapstan.k8s.core_v1 import ConfigMap
from kapstan.machinery.errors import Forbidden, KapstanError
from kapstan.machinery.markers import Default
from kapstan.machinery.meta import Int32, ObjectMeta
from kapstan.testing import Environment

GROUP = "running.kapstan.dev"


class DialSpec(Model):
    level: Int32 | None = None
    unit: Annotated[str, Default("V")] | None = None


class DialStatus(Model):
    shown: Int32 | None = None


@resource(group=GROUP, version="v1")
class Dial(Resource):
    spec: DialSpec = field(default_factory=DialSpec)
    status: DialStatus = field(default_factory=DialStatus)


@controller(Dial, owns=[ConfigMap])
@rbac("", "configmaps", verbs="create;patch")
class DialReconciler(Reconciler[Dial]):
    async def reconcile(self, dial: Dial) -> None:
        metadata = ObjectMeta(name=dial.name, namespace=dial.namespace)
        await self.client.apply(ConfigMap(metadata=metadata, data={"level": str(dial.spec.level)}), owner=dial)
        async with self.status(dial) as status:
            status.shown = dial.spec.level

    async def finalize(self, dial: Dial) -> None:
        self.events.normal(dial, "Gone", "it is gone")


@defaulter(Dial)
def default(dial: Dial) -> None:
    if dial.spec.level is None:
        dial.spec.level = 3


@validator(Dial)
def validate(new: Dial, old: Dial | None) -> list[str]:
    if (new.spec.level or 0) > 10:
        raise ValueError("levels go up to ten")
    return []


def dial(namespace: str, **spec: Any) -> Dial:
    return Dial(metadata=ObjectMeta(name="dial", namespace=namespace), spec=DialSpec(**spec))


async def test_an_operator_runs_with_no_more_rights_than_it_declares(env: Environment) -> None:
    await env.install(Dial)
    namespace = await env.namespace()
    async with env.run(DialReconciler(), default, validate, least_privilege=True) as operator:
        await env.client.create(dial(namespace))
        await env.eventually(Dial, "dial", namespace, lambda found: found.status.shown == 3)
        found = await env.client.get(ConfigMap, "dial", namespace)
        await env.client.patch(found, Patch.merge({"data": {"level": "drifted"}}))
        await env.eventually(ConfigMap, "dial", namespace, lambda found: found.data == {"level": "3"})
        with pytest.raises(KapstanError, match="levels go up to ten"):
            await env.client.create(
                dial(namespace, level=11).replace(metadata=ObjectMeta(name="x", namespace=namespace))
            )
        await env.client.delete(Dial, "dial", namespace)
        await env.gone(Dial, "dial", namespace)
    assert any(call.resource == "dials/status" for call in operator.calls)


async def test_a_permission_that_is_missing_is_refused_by_the_server_and_named_at_the_end(env: Environment) -> None:
    await env.install(Dial)
    namespace = await env.namespace()

    @controller(Dial, name="unentitled")
    @rbac("", "secrets", verbs="list")
    class Unentitled(Reconciler[Dial]):
        async def reconcile(self, dial: Dial) -> None:
            try:
                await self.client.create(ConfigMap(metadata=ObjectMeta(name="x", namespace=dial.namespace)))
            except Forbidden:
                async with self.status(dial) as status:
                    status.shown = -1

    with pytest.raises(AssertionError) as complaint:
        async with env.run(Unentitled(), least_privilege=True):
            await env.client.create(dial(namespace))
            await env.eventually(Dial, "dial", namespace, lambda found: found.status.shown == -1)
    assert f"no rule allows: create configmaps in namespace {namespace}" in str(complaint.value)
    assert "no call needs: list secrets" in str(complaint.value)


@resource(group=GROUP, version="v1")
class Meter(Resource):
    value: Int32 | None = None


def former() -> type[Any]:
    @resource(group=GROUP, version="v1beta1", storage=False)
    class Meter(Resource):
        reading: str | None = None

    return Meter


async def test_versions_are_converted_by_the_operator_under_test(env: Environment) -> None:
    old = former()
    namespace = await env.namespace()

    @convert(old, Meter)
    def up(meter: Any) -> Meter:
        return Meter(metadata=meter.metadata, value=int(meter.reading))

    @convert(Meter, old)
    def down(meter: Meter) -> Any:
        return old(metadata=meter.metadata, reading=str(meter.value))

    def setup(manager: Manager) -> None:
        manager.add(up, down)

    async with env.run(setup=setup):
        await env.client.create(old(metadata=ObjectMeta(name="gas", namespace=namespace), reading="42"))
        assert (await env.client.get(Meter, "gas", namespace)).value == 42
        assert (await env.client.get(old, "gas", namespace)).reading == "42"
        await env.client.delete(Meter, "gas", namespace)
