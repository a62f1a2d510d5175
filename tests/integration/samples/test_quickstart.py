"""The quickstart's operator, on both API servers; and `make demo`, as it is run."""

import subprocess
import sys
from pathlib import Path

import pytest
from samples.quickstart.memcached import Memcached, MemcachedReconciler, MemcachedSpec

from kapstan.k8s.apps_v1 import Deployment
from kapstan.machinery.errors import Invalid
from kapstan.machinery.meta import ObjectMeta
from kapstan.testing import Environment

ROOT = Path(__file__).parents[3]


async def test_the_deployment_follows_the_memcached(env: Environment) -> None:
    await env.install(Memcached)
    namespace = await env.namespace()
    async with env.run(MemcachedReconciler()):
        sample = Memcached(metadata=ObjectMeta(name="a", namespace=namespace), spec=MemcachedSpec(size=2))
        created = await env.client.create(sample)
        await env.eventually(Deployment, "a", namespace, lambda found: found.spec.replicas == 2)
        await env.client.scale(created, replicas=3)
        deployment = await env.eventually(Deployment, "a", namespace, lambda found: found.spec.replicas == 3)
        assert deployment.is_controlled_by(created)
        await env.client.scale(deployment, replicas=7)
        await env.eventually(Deployment, "a", namespace, lambda found: found.spec.replicas == 3)
        seen = await env.eventually(Memcached, "a", namespace, lambda found: found.status.conditions)
        assert seen.status.conditions[0].type == "Available"
        await env.client.delete(seen)
        await env.gone(Memcached, "a", namespace)


async def test_more_instances_than_allowed_are_refused(env: Environment) -> None:
    await env.install(Memcached)
    namespace = await env.namespace()
    with pytest.raises(Invalid) as refusal:
        await env.client.create(
            Memcached(metadata=ObjectMeta(name="a", namespace=namespace), spec=MemcachedSpec(size=9))
        )
    assert refusal.value.causes[0].field == "spec.size"


def test_the_demo_ends_well_by_itself() -> None:
    ran = subprocess.run([sys.executable, "-m", "samples.quickstart.demo"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "its Deployment with it" in ran.stdout
