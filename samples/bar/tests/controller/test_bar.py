# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""Both controllers of Bar, on an API server: the one that is built and the one that is wired by hand do the same."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from kapstan import Client, Invalid, ObjectMeta, Patch
from kapstan.k8s.apps_v1 import Deployment
from kapstan.k8s.events_v1 import Event
from kapstan.runtime.background import background
from kapstan.testing import Environment
from kapstan.testing.calls import record
from kapstan.testing.rbac import assert_least_privilege

from bar_operator import clientgo
from bar_operator.api.v1alpha1.bar import Bar, BarSpec
from bar_operator.controller.bar import BarReconciler
from bar_operator.controller.desired import desired_deployment
from bar_operator.main import setup

Run = Callable[[Environment], Any]


@asynccontextmanager
async def wired(env: Environment) -> AsyncIterator[None]:
    async with Client(env.config) as client, background(clientgo.run(client), name="clientgo"):
        yield


@pytest.fixture(params=["builder", "clientgo"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs one of the two."""
    return wired if request.param == "clientgo" else lambda env: env.run(setup=BarReconciler().setup_with_manager)


@pytest.fixture
async def namespace(env: Environment) -> str:
    await env.install(Bar)
    return await env.namespace()


def new(namespace: str, name: str = "sample", **spec: Any) -> Bar:
    return Bar(metadata=ObjectMeta(name=name, namespace=namespace), spec=BarSpec(**spec))


def replicas(count: int) -> Callable[[Deployment], bool]:
    return lambda found: found.spec.replicas == count


async def test_a_bar_has_a_deployment_that_it_owns(env: Environment, namespace: str, run: Run) -> None:
    async with run(env):
        bar = await env.client.create(new(namespace, deployment_name="web", replicas=2))
        deployment = await env.eventually(Deployment, "web", namespace, replicas(2))
        owner = deployment.controller_ref()
        assert owner is not None
        assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Bar", "sample", bar.uid, True)


async def test_a_deployment_is_scaled_with_its_bar(env: Environment, namespace: str, run: Run) -> None:
    async with run(env):
        bar = await env.client.create(new(namespace))
        await env.eventually(Deployment, "sample", namespace, replicas(1))  # the default, and the Bar's own name
        await env.client.patch(bar, Patch.merge({"spec": {"replicas": 3}}))
        await env.eventually(Deployment, "sample", namespace, replicas(3))


async def test_what_is_edited_by_hand_is_set_right(env: Environment, namespace: str, run: Run) -> None:
    async with run(env):
        await env.client.create(new(namespace))
        deployment = await env.eventually(Deployment, "sample", namespace)
        container = {"name": "nginx", "image": "nginx:0.1"}
        drift = {"replicas": 7, "template": {"spec": {"containers": [container]}}}
        await env.client.patch(deployment, Patch.merge({"spec": drift}))

        def repaired(found: Deployment) -> bool:
            return found.spec.replicas == 1 and clientgo.images_of(found) == ["nginx:1.29"]

        await env.eventually(Deployment, "sample", namespace, repaired)


async def test_a_deployment_that_is_deleted_comes_back(env: Environment, namespace: str, run: Run) -> None:
    async with run(env):
        await env.client.create(new(namespace))
        deployment = await env.eventually(Deployment, "sample", namespace)
        await env.client.delete(deployment)
        await env.eventually(Deployment, "sample", namespace, lambda found: found.uid != deployment.uid)


async def test_another_name_is_another_deployment_and_the_former_goes(
    env: Environment, namespace: str, run: Run
) -> None:
    async with run(env):
        bar = await env.client.create(new(namespace, deployment_name="first"))
        await env.eventually(Deployment, "first", namespace)
        await env.client.patch(bar, Patch.merge({"spec": {"deploymentName": "second"}}))
        await env.eventually(Deployment, "second", namespace)
        await env.gone(Deployment, "first", namespace)


async def test_a_name_that_was_changed_meanwhile_is_cleaned_up_at_the_start(
    env: Environment, namespace: str, run: Run
) -> None:
    """What happens while no operator runs is made good by the next one."""
    async with run(env):
        bar = await env.client.create(new(namespace, deployment_name="first"))
        await env.eventually(Deployment, "first", namespace)
    await env.client.patch(bar, Patch.merge({"spec": {"deploymentName": "second", "replicas": 2}}))
    async with run(env):
        await env.eventually(Deployment, "second", namespace, replicas(2))
        await env.gone(Deployment, "first", namespace)


async def test_a_deployment_of_somebody_else_is_an_event_and_an_error_and_never_taken_over(
    env: Environment, namespace: str, run: Run
) -> None:
    theirs = desired_deployment(new(namespace, "theirs"))
    created = await env.client.create(theirs)
    async with run(env):
        await env.client.create(new(namespace, deployment_name="theirs", replicas=5))
        await seen(env, namespace, "ErrResourceExists", "Warning")
    found = await env.client.get(Deployment, "theirs", namespace)
    assert found.metadata.resource_version == created.metadata.resource_version


async def test_the_status_says_how_many_are_available(env: Environment, namespace: str, run: Run) -> None:
    async with run(env):
        await env.client.create(new(namespace, replicas=2))
        await env.eventually(Bar, "sample", namespace, lambda found: found.status.available_replicas == 0)
        deployment = await env.eventually(Deployment, "sample", namespace)
        status = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
        await env.client.patch(deployment, Patch.merge({"status": status}), subresource="status")
        await env.eventually(Bar, "sample", namespace, lambda found: found.status.available_replicas == 2)
        await seen(env, namespace, "Synced", "Normal")


async def test_where_pods_run_all_replicas_become_available(env: Environment, namespace: str, run: Run) -> None:
    """The nodes are simulated; Deployments, ReplicaSets and pods are as on any cluster."""
    async with env.simulate(), run(env):
        bar = await env.client.create(new(namespace, replicas=3))
        await env.eventually(Bar, "sample", namespace, lambda found: found.status.available_replicas == 3)
        await env.client.patch(bar, Patch.merge({"spec": {"deploymentName": "other", "replicas": 2}}))
        await env.gone(Deployment, "sample", namespace)
        await env.eventually(Bar, "sample", namespace, lambda found: found.status.available_replicas == 2)


async def test_the_operator_needs_the_rights_that_it_declares_and_no_others(env: Environment, namespace: str) -> None:
    async with env.run(setup=setup, least_privilege=True):
        await live_through_everything(env, namespace)


async def test_the_controller_in_client_go_style_needs_no_other_rights_either(env: Environment, namespace: str) -> None:
    async with Client(env.config) as client:
        calls = record(client)
        async with background(clientgo.run(client), name="clientgo"):
            await live_through_everything(env, namespace)
    assert_least_privilege(calls, clientgo.Controller)


async def live_through_everything(env: Environment, namespace: str) -> None:
    """Whatever a Bar can make its controller do."""
    bar = await env.client.create(new(namespace, deployment_name="first"))
    await env.eventually(Deployment, "first", namespace)
    await env.client.patch(bar, Patch.merge({"spec": {"deploymentName": "second"}}))
    second = await env.eventually(Deployment, "second", namespace)
    await env.gone(Deployment, "first", namespace)
    await env.client.patch(second, Patch.merge({"spec": {"replicas": 4}}))
    await env.eventually(Deployment, "second", namespace, replicas(1))
    await seen(env, namespace, "Synced", "Normal", again=True)


@pytest.mark.parametrize("spec", [{"replicas": 0}, {"replicas": 11}, {"deployment_name": ""}])
async def test_the_schema_refuses_what_makes_no_sense(env: Environment, namespace: str, spec: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match=r"spec\."):
        await env.client.create(new(namespace, **spec))


async def seen(env: Environment, namespace: str, reason: str, type: str, *, again: bool = False) -> None:
    """Wait for an event, or until it is told again: events that repeat are patched."""
    async with asyncio.timeout(60), env.client.watch(Event, namespace) as events:
        async for event in events:
            if event.object.reason == reason and (event.object.series is not None or not again):
                assert event.object.type == type
                return
