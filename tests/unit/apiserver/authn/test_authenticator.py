"""From credentials to users."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from cryptography.hazmat.primitives import serialization

from kapstan.apiserver.authn.authenticator import Authenticator
from kapstan.apiserver.authn.jwt import InvalidToken, Signer
from kapstan.apiserver.authn.oidc import configuration, key_set, paths
from kapstan.apiserver.authn.serviceaccount import ServiceAccountTokens
from kapstan.apiserver.request import UserInfo
from kapstan.machinery.errors import Unauthorized
from kapstan.machinery.pki import KeyPair, new_ca, new_signing_key

if TYPE_CHECKING:
    from tests.unit.apiserver.conftest import Objects

    from kapstan.apiserver.http.message import HTTPRequest

ISSUER = "https://kubernetes.default.svc.cluster.local"
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
KEY = new_signing_key()
ROBOT = "system:serviceaccount:default:robot"


def make(objects: Objects, **options: Any) -> Authenticator:
    return Authenticator(objects.storage, ServiceAccountTokens(objects.storage, KEY, ISSUER), **options)


def authenticate(
    authenticator: Authenticator, authorization: str = "", certificate: bytes | None = None, now: datetime = NOW
) -> UserInfo:
    return authenticator.authenticate(certificate, authorization, now, pytest.fail)


def der(pair: KeyPair) -> bytes:
    return pair.certificate.public_bytes(serialization.Encoding.DER)


# --- Certificates ---


def test_a_certificate_names_user_and_groups(objects: Objects) -> None:
    certificate = der(new_ca("ca", now=NOW).issue("alice", organizations=["devs", "ops"], now=NOW))
    assert authenticate(make(objects), certificate=certificate) == UserInfo(
        "alice",
        groups=("devs", "ops", "system:authenticated"),
        extra={
            "authentication.kubernetes.io/credential-id": (f"X509SHA256={hashlib.sha256(certificate).hexdigest()}",)
        },
    )


def test_a_certificate_ends_with_its_date_even_on_an_open_connection(objects: Objects) -> None:
    certificate = der(new_ca("ca", now=NOW).issue("alice", now=NOW, validity=timedelta(hours=1)))
    assert authenticate(make(objects), certificate=certificate).name == "alice"
    with pytest.raises(Unauthorized):
        authenticate(make(objects), certificate=certificate, now=NOW + timedelta(hours=2))


def test_a_certificate_goes_before_a_token(objects: Objects) -> None:
    certificate = der(new_ca("ca", now=NOW).issue("alice", now=NOW))
    assert authenticate(make(objects), "Bearer nonsense", certificate).name == "alice"


# --- Static tokens, anonymous ---


def test_static_tokens(objects: Objects) -> None:
    authenticator = make(objects, static={"s3cret": UserInfo("alice", "u1", ("devs",))})
    assert authenticate(authenticator, "Bearer s3cret") == UserInfo("alice", "u1", ("devs", "system:authenticated"))
    assert authenticate(authenticator, "bearer s3cret").name == "alice"
    with pytest.raises(Unauthorized, match=r"^Unauthorized$"):
        authenticate(authenticator, "Bearer s3cres")


def test_bytes_that_are_no_text_are_no_token(objects: Objects) -> None:
    with pytest.raises(Unauthorized):
        authenticate(make(objects, static={"s3cret": UserInfo("alice")}), "Bearer \udcff\udcfe")


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer", "Bearer ", "s3cret"])
def test_who_presents_nothing_is_anonymous(objects: Objects, header: str) -> None:
    found = authenticate(make(objects), header)
    assert (found.name, found.groups) == ("system:anonymous", ("system:unauthenticated",))


def test_anonymous_can_be_off(objects: Objects) -> None:
    with pytest.raises(Unauthorized):
        authenticate(make(objects, anonymous=False))


def test_a_token_after_two_spaces_is_ignored_with_a_warning(objects: Objects) -> None:
    warnings: list[str] = []
    assert make(objects).authenticate(None, "Bearer  token", NOW, warnings.append).name == "system:anonymous"
    assert warnings == [
        "the provided Authorization header contains extra space before the bearer token, and is ignored"
    ]


# --- Bootstrap tokens ---

BOOTSTRAP = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    "auth-extra-groups": "system:bootstrappers:worker,system:bootstrappers:ingress",
}


async def put_bootstrap(objects: Objects, **content: Any) -> None:
    data = {**BOOTSTRAP, **content.pop("data", {})}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items() if value is not None}
    fields = {"type": "bootstrap.kubernetes.io/token", "data": encoded, **content}
    await objects.put("v1", "Secret", "bootstrap-token-abcdef", "kube-system", **fields)


async def test_a_bootstrap_token_is_a_bootstrapper(objects: Objects) -> None:
    await put_bootstrap(objects, data={"expiration": "2026-05-01T12:00:01Z"})
    found = authenticate(make(objects), "Bearer abcdef.0123456789abcdef")
    assert found.name == "system:bootstrap:abcdef"
    assert found.groups == (
        "system:bootstrappers",
        "system:bootstrappers:ingress",
        "system:bootstrappers:worker",
        "system:authenticated",
    )


@pytest.mark.parametrize(
    "content",
    [
        {"data": {"expiration": "2026-05-01T12:00:00Z"}},
        {"data": {"expiration": "tomorrow"}},
        {"data": {"expiration": "2026-05-02T12:00:00"}},
        {"data": {"usage-bootstrap-authentication": None}},
        {"data": {"token-secret": "fedcba9876543210"}},
        {"data": {"token-id": "fedcba"}},
        {"data": {"auth-extra-groups": "system:masters"}},
        {"type": "Opaque"},
        {"metadata": {"deletionTimestamp": "2026-05-01T11:59:59Z"}},
    ],
)
async def test_a_bootstrap_secret_must_say_all_of_it(objects: Objects, content: dict[str, Any]) -> None:
    await put_bootstrap(objects, **content)
    with pytest.raises(Unauthorized):
        authenticate(make(objects), "Bearer abcdef.0123456789abcdef")


# --- Service accounts ---


async def robot(objects: Objects) -> dict[str, Any]:
    return await objects.put("v1", "ServiceAccount", "robot", "default")


def issue(authenticator: Authenticator, account: dict[str, Any], **options: Any) -> str:
    options = {"audiences": [ISSUER], "seconds": 600, **options}
    return authenticator.tokens.issue(account, NOW, **options)


async def test_a_service_account_token_is_its_account(objects: Objects) -> None:
    authenticator, account = make(objects), await robot(objects)
    found = authenticate(authenticator, f"Bearer {issue(authenticator, account)}")
    assert (found.name, found.uid) == (ROBOT, account["metadata"]["uid"])
    assert found.groups == ("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")
    assert found.extra["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")


def refused(authenticator: Authenticator, token: str, reason: str, now: datetime = NOW, **options: Any) -> None:
    """Refused as TokenReview says it, and as a request with it sees it."""
    options = {"audiences": [ISSUER], **options}
    with pytest.raises(InvalidToken) as caught:
        authenticator.authenticate_token(token, options["audiences"], now)
    assert str(caught.value) == f"[invalid bearer token, {reason}]"
    if options["audiences"] == [ISSUER]:
        with pytest.raises(Unauthorized):
            authenticate(authenticator, f"Bearer {token}", now=now)


async def test_a_token_has_its_time(objects: Objects) -> None:
    """With a minute's leeway for clocks that differ."""
    authenticator, account = make(objects), await robot(objects)
    token = issue(authenticator, account)
    for seconds in (-59, 0, 659):
        assert authenticate(authenticator, f"Bearer {token}", now=NOW + timedelta(seconds=seconds)).name == ROBOT
    refused(authenticator, token, "service account token has expired", NOW + timedelta(seconds=661))
    refused(authenticator, token, "service account token is not valid yet", NOW - timedelta(seconds=61))


async def test_a_token_is_for_its_audience(objects: Objects) -> None:
    authenticator, account = make(objects), await robot(objects)
    token = issue(authenticator, account, audiences=["vault", "nfs"])
    refused(authenticator, token, f'token audiences ["vault" "nfs"] is invalid for the target audiences ["{ISSUER}"]')
    assert authenticator.authenticate_token(token, ["nfs", "other"], NOW).audiences == ("nfs",)


async def test_a_token_dies_with_its_account(objects: Objects) -> None:
    authenticator, account = make(objects), await robot(objects)
    token = issue(authenticator, account)
    await objects.put("v1", "ServiceAccount", "robot", "default", metadata={"uid": "again"})
    old = account["metadata"]["uid"]
    refused(authenticator, token, f"service account UID (again) does not match claim ({old})")
    await objects.delete("v1", "ServiceAccount", "robot", "default")
    refused(authenticator, token, 'serviceaccounts "robot" not found')


@pytest.mark.parametrize(("kind", "namespace"), [("Pod", "default"), ("Secret", "default"), ("Node", "")])
async def test_a_bound_token_dies_with_what_it_is_bound_to(objects: Objects, kind: str, namespace: str) -> None:
    authenticator, account = make(objects), await robot(objects)
    target = await objects.put("v1", kind, "thing", namespace)
    token = issue(authenticator, account, bound={kind.lower(): target})
    assert authenticate(authenticator, f"Bearer {token}").name == ROBOT

    uid = target["metadata"]["uid"]
    await objects.put(
        "v1", kind, "thing", namespace, metadata={"deletionTimestamp": "2026-05-01T11:59:30Z", "uid": uid}
    )
    assert authenticate(authenticator, f"Bearer {token}").name == ROBOT, "the last minute belongs to the shutdown"
    gone = "service account token has been invalidated"
    refused(authenticator, token, gone, NOW + timedelta(minutes=1))

    await objects.put("v1", kind, "thing", namespace, metadata={"uid": "again"})
    lower = kind.lower()
    refused(authenticator, token, f"{lower} UID (again) does not match service account {lower} ref claim ({uid})")
    await objects.delete("v1", kind, "thing", namespace)
    refused(authenticator, token, gone)


async def test_a_pods_token_tells_pod_and_node(objects: Objects) -> None:
    authenticator, account = make(objects), await robot(objects)
    pod = await objects.put("v1", "Pod", "p", "default")
    node = {"metadata": {"name": "n", "uid": "node-uid"}}
    found = authenticate(authenticator, f"Bearer {issue(authenticator, account, bound={'pod': pod, 'node': node})}")
    assert {key: value for key, value in found.extra.items() if "credential" not in key} == {
        "authentication.kubernetes.io/pod-name": ("p",),
        "authentication.kubernetes.io/pod-uid": (pod["metadata"]["uid"],),
        "authentication.kubernetes.io/node-name": ("n",),
        "authentication.kubernetes.io/node-uid": ("node-uid",),
    }


async def test_tokens_of_foreign_keys_are_refused(objects: Objects) -> None:
    account = await robot(objects)
    foreign = ServiceAccountTokens(objects.storage, new_signing_key(), ISSUER)
    token = foreign.issue(account, NOW, audiences=[ISSUER], seconds=600)
    refused(make(objects), token, "invalid signature, no keys found")


async def test_former_keys_still_check(objects: Objects) -> None:
    account = await robot(objects)
    former = new_signing_key()
    token = ServiceAccountTokens(objects.storage, former, ISSUER).issue(account, NOW, audiences=[ISSUER], seconds=600)
    tokens = ServiceAccountTokens(objects.storage, KEY, ISSUER, also=[former.public_pem])
    assert authenticate(Authenticator(objects.storage, tokens), f"Bearer {token}").name == ROBOT
    assert len(key_set(tokens)["keys"]) == 2


async def test_tokens_of_other_issuers_are_nobodys(objects: Objects) -> None:
    account = await robot(objects)
    token = ServiceAccountTokens(objects.storage, KEY, "https://other").issue(
        account, NOW, audiences=[ISSUER], seconds=9
    )
    with pytest.raises(InvalidToken, match=r"^invalid bearer token$"):
        make(objects).authenticate_token(token, [ISSUER], NOW)


async def test_a_legacy_token_holds_while_its_secret_does(objects: Objects) -> None:
    authenticator, account = make(objects), await robot(objects)
    prefix = "kubernetes.io/serviceaccount/"
    claims = {
        "iss": "kubernetes/serviceaccount",
        "sub": ROBOT,
        f"{prefix}namespace": "default",
        f"{prefix}service-account.name": "robot",
        f"{prefix}service-account.uid": account["metadata"]["uid"],
        f"{prefix}secret.name": "robot-token",
    }
    token = Signer(KEY.key_pem).sign(claims)
    refused(authenticator, token, "Token has been invalidated")
    await objects.put(
        "v1", "Secret", "robot-token", "default", data={"token": base64.b64encode(token.encode()).decode()}
    )
    assert authenticate(authenticator, f"Bearer {token}").name == ROBOT
    await objects.put("v1", "Secret", "robot-token", "default", data={})
    refused(authenticator, token, "Token does not match server's copy")


def test_discovery_says_where_the_keys_are(objects: Objects) -> None:
    tokens = make(objects).tokens
    assert configuration(tokens, "127.0.0.1:6443") == {
        "issuer": ISSUER,
        "jwks_uri": "https://127.0.0.1:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    assert [key["kid"] for key in key_set(tokens)["keys"]] == [tokens.verifiers[0].key_id]


async def test_discovery_is_served(objects: Objects) -> None:
    cluster = objects.request(UserInfo("x"), "get", "v1", "ConfigMap", "default").cluster
    cluster.address = "127.0.0.1:6443"
    unread = cast("HTTPRequest", None)  # what is served depends on the path alone
    served = {path: serve(unread) for path, serve in paths(cluster).items()}
    assert {path: answer.content_type for path, answer in served.items()} == {
        "/.well-known/openid-configuration": "application/json",
        "/openid/v1/jwks": "application/jwk-set+json",
    }
    assert json.loads(served["/openid/v1/jwks"].body) == key_set(cluster.tokens)
    assert all(answer.headers == {"Cache-Control": "public, max-age=3600"} for answer in served.values())
