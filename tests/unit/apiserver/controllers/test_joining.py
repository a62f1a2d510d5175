"""Machines know a cluster by the signatures of their tokens, and old tokens go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.apiserver.controllers.conftest import CONFIG_MAP, World

from kapstan.apiserver.authn.bootstrap import BootstrapToken
from kapstan.apiserver.controllers.joining import detached_signature

INFO = {"name": "cluster-info", "namespace": "kube-public"}


async def token(world: World, id: str = "abcdef", **more: str) -> dict[str, Any]:
    data = {"token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-signing": "true", **more}
    return await world.create(
        "Secret",
        f"bootstrap-token-{id}",
        namespace="kube-system",
        type="bootstrap.kubernetes.io/token",
        stringData=data,
    )


async def cluster_info(world: World) -> dict[str, str]:
    await world.controllers.idle()
    found = await world.api.get(CONFIG_MAP, INFO["name"], INFO["namespace"])
    data: dict[str, str] = found["data"]
    return data


@pytest.fixture
async def info(world: World) -> None:
    await world.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": INFO, "data": {"kubeconfig": "known"}})


def test_a_signature_is_what_kubeadm_expects() -> None:
    """The value was made by the Go library that kubeadm checks it with."""
    secret = "0123456789abcdef"
    known = BootstrapToken("abcdef", secret, authentication=False, signing=True, extra_groups="", expiration=None)
    header, signature = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9", "pQpAf41KnbpDpf53Otu_ufAeAbWD9CSytTS_WpoG4Mc"
    assert detached_signature("payload", known) == f"{header}..{signature}"


async def test_every_token_that_may_signs(world: World, info: None) -> None:
    await token(world)
    other = await token(world, "other0")
    await token(world, "silent", **{"usage-bootstrap-signing": "false"})
    await token(world, "passed", expiration="2020-01-01T00:00:00Z")
    assert (await cluster_info(world)).keys() == {"kubeconfig", "jws-kubeconfig-abcdef", "jws-kubeconfig-other0"}

    await world.delete(other)
    assert (await cluster_info(world)).keys() == {"kubeconfig", "jws-kubeconfig-abcdef"}


async def test_another_content_is_signed_anew(world: World, info: None) -> None:
    await token(world)
    before = await cluster_info(world)
    found = await world.api.get(CONFIG_MAP, INFO["name"], INFO["namespace"])
    await world.patch(found, {"data": {"kubeconfig": "another"}})
    after = await cluster_info(world)
    assert after["jws-kubeconfig-abcdef"] != before["jws-kubeconfig-abcdef"]


async def test_without_a_kubeconfig_there_is_nothing_to_sign(world: World) -> None:
    await token(world)
    metadata = {**INFO}
    await world.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"other": "x"}})
    assert await cluster_info(world) == {"other": "x"}


async def test_a_token_goes_when_it_expires(world: World) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    kept = await token(world, expiration=later)
    for_ever = await token(world, "always")
    expired = await token(world, "passed", expiration="2020-01-01T00:00:00Z")
    await world.controllers.idle()
    assert await world.find(expired) is None
    assert await world.find(kept) is not None
    assert await world.find(for_ever) is not None
