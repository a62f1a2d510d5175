# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""The controller of Memcached, on an API server, with the rights that it declares and no others."""

import asyncio
from collections.abc import Callable

import pytest
from kapstan import Invalid, ObjectMeta, Patch
from kapstan.k8s.apps_v1 import Deployment
from kapstan.k8s.core_v1 import Namespace, Pod, ServiceAccount
from kapstan.k8s.events_v1 import Event
from kapstan.testing import Environment

from memcached_operator.api.v1alpha1.memcached import Memcached, MemcachedSpec
from memcached_operator.controller.memcached import MemcachedReconciler, desired_deployment


@pytest.fixture
async def namespace(env: Environment) -> str:
    await env.install(Memcached)
    return await env.namespace()


def sample(namespace: str, size: int | None = None) -> Memcached:
    return Memcached(metadata=ObjectMeta(name="sample", namespace=namespace), spec=MemcachedSpec(size=size))


def replicas(count: int) -> Callable[[Deployment], bool]:
    """Whether a Deployment is of a size."""
    return lambda found: found.spec.replicas == count


def condition(type: str, status: str) -> Callable[[Memcached], bool]:
    """Whether a condition has a status."""

    def holds(found: Memcached) -> bool:
        return any((one.type, one.status) == (type, status) for one in found.status.conditions)

    return holds


async def test_a_deployment_of_the_wanted_size_is_kept_until_the_end(env: Environment, namespace: str) -> None:
    async with env.run(MemcachedReconciler(), least_privilege=True):
        created = await env.client.create(sample(namespace, size=2))
        deployment = await env.eventually(Deployment, "sample", namespace, replicas(2))
        assert deployment.is_controlled_by(created)

        await env.client.patch(created, Patch.merge({"spec": {"size": 3}}))
        await env.eventually(Deployment, "sample", namespace, replicas(3))

        await env.client.patch(deployment, Patch.merge({"spec": {"replicas": 10}}))  # somebody meddles
        await env.eventually(Deployment, "sample", namespace, replicas(3))

        await env.client.delete(created)
        await env.gone(Memcached, "sample", namespace)
        await env.gone(Deployment, "sample", namespace)


async def test_available_says_whether_all_instances_are_there(env: Environment, namespace: str) -> None:
    async with env.run(MemcachedReconciler()):
        await env.client.create(sample(namespace))
        await env.eventually(Memcached, "sample", namespace, condition("Available", "False"))
        ready = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
        deployment = await env.client.get(Deployment, "sample", namespace)
        await env.client.patch(deployment, Patch.merge({"status": ready}), subresource="status")
        found = await env.eventually(Memcached, "sample", namespace, condition("Available", "True"))
        assert condition("Degraded", "False")(found)


async def test_where_pods_run_there_are_as_many_as_were_asked_for(env: Environment, namespace: str) -> None:
    """The nodes are simulated; Deployments, ReplicaSets and pods are as on any cluster."""
    async with env.simulate(), env.run(MemcachedReconciler()):
        created = await env.client.create(sample(namespace, size=3))
        await env.eventually(Memcached, "sample", namespace, condition("Available", "True"))
        assert len(await env.client.list(Pod, namespace)) == 3
        await env.client.patch(created, Patch.merge({"spec": {"size": 1}}))
        await env.eventually(Memcached, "sample", namespace, lambda found: found.status.instances == 1)


async def test_a_deployment_of_somebody_else_is_left_alone(env: Environment, namespace: str) -> None:
    theirs = desired_deployment(sample(namespace, size=1))
    await env.client.create(theirs)
    async with env.run(MemcachedReconciler()):
        await env.client.create(sample(namespace, size=2))
        await env.eventually(Memcached, "sample", namespace, condition("Degraded", "True"))
        assert (await env.client.get(Deployment, "sample", namespace)).spec.replicas == 1


async def test_nothing_is_known_at_first(env: Environment, namespace: str) -> None:
    """Available is Unknown before it is anything else."""
    async with asyncio.timeout(60), env.client.watch(Memcached, namespace) as events, env.run(MemcachedReconciler()):
        await env.client.create(sample(namespace))
        async for event in events:
            if conditions := event.object.status.conditions:
                assert [(one.type, one.status) for one in conditions] == [("Available", "Unknown")]
                break


async def test_what_happens_is_told_as_events(env: Environment, namespace: str) -> None:
    async with env.run(MemcachedReconciler()):
        created = await env.client.create(sample(namespace, size=1))
        await env.eventually(Memcached, "sample", namespace, condition("Available", "False"))
        await env.client.patch(created, Patch.merge({"spec": {"size": 2}}))
        await env.eventually(Deployment, "sample", namespace, replicas(2))
        await env.client.delete(created)
        await env.gone(Memcached, "sample", namespace)
        wanted = {"Created", "Scaled", "Deleted"}
        async with asyncio.timeout(60), env.client.watch(Event, namespace) as events:
            async for event in events:
                wanted.discard(event.object.reason or "")
                if not wanted:
                    break


async def test_what_changed_while_no_operator_ran_is_made_good(env: Environment, namespace: str) -> None:
    async with env.run(MemcachedReconciler()):
        created = await env.client.create(sample(namespace, size=1))
        deployment = await env.eventually(Deployment, "sample", namespace, replicas(1))
    await env.client.patch(created, Patch.merge({"spec": {"size": 3}}))
    await env.client.delete(deployment)
    async with env.run(MemcachedReconciler()):
        await env.eventually(Deployment, "sample", namespace, replicas(3))
    await env.client.delete(created)  # its finalizer keeps it until somebody cleans up
    assert (await env.client.get(Memcached, "sample", namespace)).deleting
    async with env.run(MemcachedReconciler()):
        await env.gone(Memcached, "sample", namespace)
        await env.gone(Deployment, "sample", namespace)


async def test_pods_meet_the_restricted_security_standard(env: Environment) -> None:
    """A namespace that enforces it accepts them. (The embedded API server does not enforce it; the real one does.)"""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = (await env.client.create(Namespace(metadata=ObjectMeta(generate_name="test-", labels=labels)))).name
    account = ServiceAccount(metadata=ObjectMeta(name="default", namespace=namespace))
    await env.client.apply(account)  # there may be no controller that makes it
    template = desired_deployment(sample(namespace)).spec.template
    assert template.spec is not None
    template.spec.automount_service_account_token = False
    pod = await env.client.create(Pod(metadata=ObjectMeta(name="sample", namespace=namespace), spec=template.spec))
    assert pod.uid


@pytest.mark.parametrize("size", [0, 4])
async def test_a_size_out_of_bounds_is_refused(env: Environment, namespace: str, size: int) -> None:
    with pytest.raises(Invalid, match=r"spec\.size"):
        await env.client.create(sample(namespace, size))
