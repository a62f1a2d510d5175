"""Hosted control planes from the outside: objects of the management plane, and the clusters that come of them."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from tests.integration.cluster.hosted.management import PATIENCE, Management, condition

from kapstan.client import Client, Config, Patch
from kapstan.cluster.api.controlplane import HostedControlPlane, HostedControlPlaneTemplate
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName
from kapstan.k8s.core_v1 import ConfigMap, Secret
from kapstan.machinery.conditions import find, is_true
from kapstan.machinery.errors import APIError, ConnectionFailed, Invalid
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.pki import SigningKey, new_ca, new_signing_key

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


async def test_initialized_means_that_nodes_can_join(either: Management) -> None:
    """Whoever waits for it acts at once: what `kubeadm join` reads must be there by then."""
    async with either.managed():
        await either.create()
        await either.until(lambda plane: plane.status.initialization)

        async with await either.tenant() as tenant:
            for name, namespace in (("cluster-info", "kube-public"), ("kubeadm-config", "kube-system")):
                assert await tenant.find(ConfigMap, name, namespace)
            assert (await tenant.request("GET", "/readyz")).startswith(b"ok")


async def test_nothing_has_to_be_tried_again_while_it_is_made(management: Management) -> None:
    """Its own writes do not get in its way."""
    management.runtime = "Simulated"
    async with management.managed() as operator:
        await management.create()
        await management.until(lambda plane: is_true(plane.status.conditions, "AddonsReady"))

        errors = "controller_runtime_reconcile_errors_total"
        assert operator.manager.metrics.value(errors, "hostedcontrolplane") == 0


async def test_a_paused_one_is_left_alone(either: Management) -> None:
    async with either.managed():
        await either.create(cluster={"paused": True})
        plane = await either.until(lambda plane: plane.status.conditions)
        assert [(found.type, found.status) for found in plane.status.conditions] == [("Paused", "True")]
        assert plane.metadata.finalizers == []
        assert either.running() == []

        await either.client.patch_named(Cluster, "c1", either.namespace, Patch.merge({"spec": {"paused": False}}))
        await either.until(lambda plane: condition(plane, "APIServerHealthy"))


async def test_a_manager_that_starts_again_finds_everything_in_order(either: Management) -> None:
    async with either.managed():
        await either.create()
        before = await either.available()

    async with either.managed():
        await either.patch(rollout={"strategy": {"type": "BlueGreen"}})  # which it is already
        after = await either.until(
            lambda plane: (
                plane.status.observed_generation == plane.metadata.generation
                and is_true(plane.status.conditions, "Available")
            )
        )
    for type in ("Available", "APIServerHealthy"):  # nobody was told that it was not
        assert condition(after, type).last_transition_time == condition(before, type).last_transition_time
    assert len(either.running()) == (len(ComponentName) if either.runtime == "Process" else 0)


async def test_data_that_are_elsewhere_are_not_replaced_by_none(either: Management, tmp_path: Path) -> None:
    """Another management plane took over, whose folder has never held the control plane."""
    async with either.managed():
        await either.create()
        await either.available()

    home, either.data = either.data, tmp_path / "elsewhere" / "data"
    async with either.managed():
        plane = await either.until(lambda plane: not is_true(plane.status.conditions, "DatastoreReady"))
        assert "not in the data folder" in condition(plane, "DatastoreReady").message
        assert either.left() == []

    either.data = home
    async with either.managed():
        await either.available()


@pytest.mark.parametrize("moment", ["APIServerHealthy", "KubeconfigAvailable"])
async def test_a_manager_that_dies_meanwhile_is_followed_by_one_that_goes_on(
    management: Management, moment: str
) -> None:
    async with management.managed():
        await management.create()
        await management.until(lambda plane: find(plane.status.conditions, moment))

    async with management.managed():
        await management.available()
        await management.delete()
        assert management.left() == []


async def test_an_authority_that_the_user_brings_is_used(either: Management) -> None:
    own = new_ca("acme")
    await either.client.create(
        Secret(
            metadata=ObjectMeta(name="c1-ca", namespace=either.namespace),
            type="kubernetes.io/tls",
            data={"tls.crt": own.cert_pem, "tls.key": own.key_pem},
        )
    )
    async with either.managed():
        await either.create()
        await either.until(lambda plane: is_true(plane.status.conditions, "KubeconfigAvailable"))
        async with await either.tenant() as tenant:
            assert tenant.config.ca == own.cert_pem
            assert b"gitVersion" in await tenant.request("GET", "/version")
        await either.delete()
    left = await either.client.list(Secret, either.namespace)
    assert [secret.name for secret in left] == ["c1-ca"]


async def test_an_authority_that_the_user_replaces_is_taken_up_everywhere(either: Management) -> None:
    """By components, which know only the one that they were started with, and in what others are told."""
    own, signing = new_ca("another"), new_signing_key()
    async with either.managed():
        await either.create()
        before = await either.available()
        await replace_secret(either, "c1-sa", signing.public_pem, signing.key_pem)
        await replace_secret(either, "c1-ca", own.cert_pem, own.key_pem)

        await either.env.eventually(
            Secret,
            "c1-kubeconfig",
            either.namespace,
            lambda secret: Config.from_kubeconfig(secret.data["value"]).ca == own.cert_pem,
            timeout=PATIENCE,
        )
        async with await either.tenant() as tenant:
            await root_ca_is(tenant, own.cert_pem.decode())
            await tokens_are_signed_by(tenant, signing)
        after = await either.available()
        assert after.spec.control_plane_endpoint == before.spec.control_plane_endpoint


async def replace_secret(management: Management, name: str, certificate: bytes, key: bytes) -> None:
    data = {"tls.crt": b64encode(certificate).decode(), "tls.key": b64encode(key).decode()}
    await management.client.patch_named(Secret, name, management.namespace, Patch.merge({"data": data}))


async def root_ca_is(tenant: Client, pem: str) -> None:
    """What pods trust."""

    async def told() -> bool:
        return (await tenant.get(ConfigMap, "kube-root-ca.crt", "default")).data["ca.crt"] == pem

    await comes_true(told)


async def tokens_are_signed_by(tenant: Client, key: SigningKey) -> None:
    public = load_pem_public_key(key.public_pem)
    assert isinstance(public, ec.EllipticCurvePublicKey)
    expected = urlsafe_b64encode(public.public_numbers().x.to_bytes(32)).rstrip(b"=")

    async def told() -> bool:
        return expected in await tenant.request("GET", "/openid/v1/jwks", accept="application/jwk-set+json")

    await comes_true(told)


async def comes_true(condition: Callable[[], Awaitable[bool]]) -> None:
    """The API server may be replaced meanwhile."""
    failure = ""
    try:
        async with asyncio.timeout(120):
            while True:
                try:
                    if await condition():
                        return
                except (APIError, ConnectionFailed) as error:
                    failure = str(error)
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"{condition.__qualname__} did not come true; last failure: {failure}") from None


async def test_a_simulated_one_may_say_that_it_shares_an_etcd(management: Management) -> None:
    """It has none, but manifests that were written for processes are good for it as well."""
    management.runtime = "Simulated"
    async with management.managed():
        await management.create(datastore={"type": "SharedEtcd"})
        await management.available()

    names = {secret.name for secret in await management.client.list(Secret, management.namespace)}
    assert names == {"c1-ca", "c1-kubeconfig", "c1-proxy", "c1-sa"}


async def test_more_replicas_can_be_simulated(management: Management) -> None:
    management.runtime = "Simulated"
    async with management.managed():
        await management.create(replicas=3)
        status = (await management.available()).status

        assert (status.replicas, status.ready_replicas, status.available_replicas) == (3, 3, 3)
        assert (status.up_to_date_replicas, status.versions[0].replicas) == (3, 3)


@pytest.mark.parametrize(
    ("spec", "type", "message"),
    [
        pytest.param(
            {"version": "v1.36.999"},
            "APIServerHealthy",
            "kube-apiserver v1.36.999 .*cannot be found on this machine: run `kapstan kube fetch --version v1.36.999`",
            id="no programs",
        ),
        pytest.param(
            {"apiServer": {"extraArgs": [{"name": "etcd-prefix", "value": "/other"}]}},
            "Available",
            r"spec\.apiServer\.extraArgs\[0\]\.name: Forbidden: --etcd-prefix: is set by the control plane itself",
            id="reserved flag",
        ),
        pytest.param(
            {"apiServer": {"extraArgs": [{"name": "no-such-flag", "value": "1"}]}},
            "APIServerHealthy",
            "it does not know the flag --no-such-flag",
            id="unknown flag",
        ),
        pytest.param(
            {"exposure": {"type": "HostPort", "bindAddress": "0.0.0.0"}},
            "EndpointReady",
            r"set spec\.exposure\.host to the name or address that nodes reach this machine by",
            id="no host",
        ),
    ],
)
async def test_what_goes_wrong_is_told_to_a_person(
    management: Management, spec: dict[str, Any], type: str, message: str
) -> None:
    def told(plane: HostedControlPlane) -> bool:
        found = find(plane.status.conditions, type)
        return found is not None and re.search(message, found.message) is not None

    async with management.managed():
        await management.create(**spec)
        plane = await management.until(told)
        assert condition(plane, "Available").status == "False"


async def test_a_version_that_may_not_follow_is_not_tried(either: Management) -> None:
    """Without the webhook that would refuse it."""
    async with either.managed():
        await either.create()
        await either.available()
        await either.patch(version="v1.38.0")
        plane = await either.until(lambda plane: condition(plane, "RollingOut").reason == "VersionRefused")

        assert "skips a minor version: v1.36.3 runs, upgrade to v1.37 first" in condition(plane, "RollingOut").message
        assert is_true(plane.status.conditions, "Available")


async def test_an_authority_that_is_lost_is_not_replaced(either: Management) -> None:
    """The nodes of a cluster that works would not survive another one."""
    async with either.managed():
        await either.create()
        await either.available()
        await either.client.delete(Secret, "c1-ca", either.namespace)

        plane = await either.until(lambda plane: not is_true(plane.status.conditions, "CertificatesAvailable"))
        assert "c1-ca is missing: restore it" in condition(plane, "CertificatesAvailable").message
        async with await either.tenant() as tenant:
            assert b"gitVersion" in await tenant.request("GET", "/version")


async def test_a_webhook_refuses_with_the_path_of_the_field(management: Management) -> None:
    await management.env.install(HostedControlPlaneTemplate)
    management.runtime = "Simulated"
    async with management.managed(webhooks=True):
        await management.create()
        await management.available()

        reserved = {"extraArgs": [{"name": "etcd-servers", "value": "x"}]}
        for spec, field in (
            ({"version": "v1.38.0"}, "spec.version"),
            ({"version": "v1.35.0"}, "spec.version"),
            ({"apiServer": reserved}, "spec.apiServer.extraArgs[0].name"),
        ):
            with pytest.raises(Invalid) as refused:
                await management.patch(**spec)
            assert [cause.field for cause in refused.value.causes] == [field]
        await management.patch(version="v1.37.0")
