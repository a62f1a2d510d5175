"""The Secrets of a cluster: as Cluster API makes them, reused if they are there, the user's own left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from kapstan.client import Client, Config
from kapstan.cluster.pki.authorities import ensure_authorities
from kapstan.cluster.pki.kubeconfig import Administrator, ensure_kubeconfig
from kapstan.cluster.pki.secrets import BadSecret
from kapstan.k8s.core_v1 import ConfigMap, Secret
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.pki import KeyAlgorithm, is_signed_by, load_certificates, new_ca, new_signing_key
from kapstan.testing import Environment

CLUSTER = ObjectKey("default", "c1")


@pytest.fixture
def client(embedded: Environment) -> Client:
    return embedded.client


@pytest.fixture
async def owner(client: Client) -> ConfigMap:
    """Whatever kind the control plane is."""
    return await client.create(ConfigMap(metadata=ObjectMeta(name="c1", namespace="default")))


def an_administrator(server: str = "https://127.0.0.1:6443") -> Administrator:
    return Administrator(cluster="c1", server=server, ca=CA)


CA = new_ca("kubernetes")
ENDED = new_ca("kubernetes", now=datetime(2000, 1, 1, tzinfo=UTC) - timedelta(days=1))


def ed25519_pair() -> dict[str, bytes]:
    key = ed25519.Ed25519PrivateKey.generate()
    pem = serialization.Encoding.PEM
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return {"tls.crt": public, "tls.key": private}


ED25519 = ed25519_pair()


async def secrets(client: Client) -> dict[str, Secret]:
    return {secret.name: secret for secret in await client.list(Secret, "default")}


async def test_authorities_are_made_as_cluster_api_names_them(client: Client, owner: ConfigMap) -> None:
    authorities = await ensure_authorities(client, CLUSTER, owner)

    made = await secrets(client)
    assert set(made) == {"c1-ca", "c1-etcd", "c1-proxy", "c1-sa"}
    for secret in made.values():
        assert secret.type == "cluster.x-k8s.io/secret"
        assert secret.metadata.labels == {"cluster.x-k8s.io/cluster-name": "c1"}
        assert set(secret.data) == {"tls.crt", "tls.key"}
        assert secret.is_controlled_by(owner)
    assert made["c1-ca"].data["tls.crt"] == authorities.cluster.cert_pem
    assert made["c1-sa"].data["tls.crt"].startswith(b"-----BEGIN PUBLIC KEY-----")


async def test_authorities_are_made_once(client: Client, owner: ConfigMap) -> None:
    first = await ensure_authorities(client, CLUSTER, owner)
    before = await secrets(client)

    assert await ensure_authorities(client, CLUSTER, owner) == first
    assert await secrets(client) == before


async def test_a_manager_that_died_in_between_makes_only_the_rest(client: Client, owner: ConfigMap) -> None:
    first = await ensure_authorities(client, CLUSTER, owner)
    await client.delete(Secret, "c1-etcd", "default")

    second = await ensure_authorities(client, CLUSTER, owner)

    assert second.cluster == first.cluster
    assert second.etcd != first.etcd


async def test_an_etcd_that_is_shared_has_no_authority_in_the_cluster(client: Client, owner: ConfigMap) -> None:
    authorities = await ensure_authorities(client, CLUSTER, owner, etcd=False)

    assert authorities.etcd is None
    assert "c1-etcd" not in await secrets(client)


async def test_the_algorithm_is_as_asked(client: Client, owner: ConfigMap) -> None:
    authorities = await ensure_authorities(client, CLUSTER, owner, algorithm=KeyAlgorithm.ECDSA_P384)

    assert authorities.cluster.certificate.public_key().key_size == 384  # type: ignore[union-attr]


async def test_an_authority_that_the_user_brought_is_used_and_left_alone(client: Client, owner: ConfigMap) -> None:
    own = new_ca("acme")
    brought = await client.create(
        Secret(
            metadata=ObjectMeta(name="c1-ca", namespace="default"),
            type="kubernetes.io/tls",
            data={"tls.crt": own.cert_pem, "tls.key": own.key_pem},
        )
    )

    authorities = await ensure_authorities(client, CLUSTER, owner)

    assert authorities.cluster == own
    assert (await secrets(client))["c1-ca"] == brought


async def test_a_generated_secret_that_nobody_owns_is_adopted(client: Client, owner: ConfigMap) -> None:
    """So it is after a move to another management plane."""
    await ensure_authorities(client, CLUSTER, owner)
    for secret in (await secrets(client)).values():
        async with client.edit(secret) as orphan:
            orphan.metadata.owner_references = []

    await ensure_authorities(client, CLUSTER, owner)

    assert all(secret.is_controlled_by(owner) for secret in (await secrets(client)).values())


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        pytest.param("c1-ca", {"tls.crt": b"x"}, "Secret default/c1-ca: the key tls.key is missing", id="no key"),
        pytest.param("c1-proxy", {"tls.crt": b"x", "tls.key": b"y"}, "Secret default/c1-proxy: .*PEM", id="no PEM"),
        pytest.param(
            "c1-ca",
            {"tls.crt": CA.cert_pem, "tls.key": new_ca("b").key_pem},
            "Secret default/c1-ca: the private key does not belong to the certificate",
            id="another's key",
        ),
        pytest.param(
            "c1-sa",
            {"tls.crt": new_signing_key().public_pem, "tls.key": new_signing_key().key_pem},
            "Secret default/c1-sa: the private key in tls.key does not belong to the public key in tls.crt",
            id="another's public key",
        ),
        pytest.param(
            "c1-sa",
            {"tls.crt": CA.cert_pem, "tls.key": CA.key_pem},
            "Secret default/c1-sa: tls.crt is not a PEM public key",
            id="certificate for public key",
        ),
        pytest.param("c1-sa", ED25519, "tls.key is neither an ECDSA nor an RSA key", id="key that Kubernetes has not"),
        pytest.param(
            "c1-etcd",
            {"tls.crt": ENDED.cert_pem, "tls.key": ENDED.key_pem},
            "Secret default/c1-etcd: the authority ended on 2009-12-27: replace it",
            id="ended",
        ),
    ],
)
async def test_a_secret_that_is_wrong_is_named(
    client: Client, owner: ConfigMap, name: str, data: dict[str, bytes], message: str
) -> None:
    await client.create(Secret(metadata=ObjectMeta(name=name, namespace="default"), type="Opaque", data=data))

    with pytest.raises(BadSecret, match=message) as raised:
        await ensure_authorities(client, CLUSTER, owner)
    assert "PRIVATE KEY" not in str(raised.value)


async def test_the_kubeconfig_is_the_administrators(client: Client, owner: ConfigMap) -> None:
    secret = await ensure_kubeconfig(client, CLUSTER, an_administrator(), owner)

    assert secret.key == ObjectKey("default", "c1-kubeconfig")
    assert secret.type == "cluster.x-k8s.io/secret"
    assert secret.is_controlled_by(owner)
    config = Config.from_kubeconfig(secret.data["value"])
    assert config.server == "https://127.0.0.1:6443"
    assert config.ca == CA.cert_pem
    assert is_signed_by(config.cert, CA.cert_pem)
    subject = load_certificates(config.cert)[0].subject.rfc4514_string()
    assert subject == "CN=kubernetes-admin,O=system:masters"


async def test_a_kubeconfig_that_is_good_stays(client: Client, owner: ConfigMap) -> None:
    first = await ensure_kubeconfig(client, CLUSTER, an_administrator(), owner)

    assert await ensure_kubeconfig(client, CLUSTER, an_administrator(), owner) == first


@pytest.mark.parametrize(
    ("administrator", "later"),
    [
        pytest.param(an_administrator(), timedelta(days=183), id="half of its life is over"),
        pytest.param(an_administrator("https://127.0.0.1:7443"), timedelta(), id="the endpoint has changed"),
        pytest.param(
            Administrator(cluster="c1", server="https://127.0.0.1:6443", ca=new_ca("kubernetes")),
            timedelta(),
            id="the authority has changed",
        ),
    ],
)
async def test_a_kubeconfig_is_renewed_in_place(
    client: Client, owner: ConfigMap, administrator: Administrator, later: timedelta
) -> None:
    first = await ensure_kubeconfig(client, CLUSTER, an_administrator(), owner)
    now = datetime.now(UTC) + later

    second = await ensure_kubeconfig(client, CLUSTER, administrator, owner, now=now)

    assert second.uid == first.uid
    assert second.data["value"] != first.data["value"]
    assert administrator.why_renew(second.data["value"], now=now) is None


async def test_before_half_of_its_life_a_kubeconfig_is_not_renewed() -> None:
    text = an_administrator().kubeconfig().encode()

    assert an_administrator().why_renew(text, now=datetime.now(UTC) + timedelta(days=181)) is None


async def test_a_kubeconfig_of_an_authority_that_soon_ends_is_not_renewed_for_nothing() -> None:
    ending = Administrator(cluster="c1", server="https://a:1", ca=new_ca("kubernetes", validity=timedelta(days=30)))

    assert ending.why_renew(ending.kubeconfig().encode()) is None


async def test_a_kubeconfig_that_the_user_brought_is_left_alone(client: Client, owner: ConfigMap) -> None:
    text = Administrator(cluster="other", server="https://a:1", ca=new_ca("x")).kubeconfig()
    brought = await client.create(
        Secret(metadata=ObjectMeta(name="c1-kubeconfig", namespace="default"), data={"value": text.encode()})
    )

    assert await ensure_kubeconfig(client, CLUSTER, an_administrator(), owner) == brought


async def test_a_kubeconfig_that_the_user_brought_must_be_one(client: Client, owner: ConfigMap) -> None:
    await client.create(
        Secret(metadata=ObjectMeta(name="c1-kubeconfig", namespace="default"), data={"config": b"apiVersion: v1"})
    )

    with pytest.raises(BadSecret, match="Secret default/c1-kubeconfig: the key value is missing"):
        await ensure_kubeconfig(client, CLUSTER, an_administrator(), owner)


def test_keys_never_show() -> None:
    assert "PRIVATE KEY" not in repr(an_administrator())
