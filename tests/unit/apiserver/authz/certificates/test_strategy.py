"""Writing requests, deciding about them and signing them: who may change what."""

from __future__ import annotations

import base64
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kapstan.apiserver.authz.certificates.strategy import ApprovalStrategy, RequestStrategy, StatusStrategy
from kapstan.apiserver.request import UserInfo
from kapstan.machinery.pki import new_ca

if TYPE_CHECKING:
    from tests.unit.apiserver.conftest import Objects

Object = dict[str, Any]
CSR = ("certificates.k8s.io/v1", "CertificateSigningRequest")
ALICE = UserInfo("alice", "u1", ("devs", "system:authenticated"), {"scope": ("a",)})
APPROVED = {"type": "Approved", "status": "True", "reason": "R"}
DECIDED = {**APPROVED, "lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}
CERTIFICATE = base64.b64encode(new_ca("x").cert_pem).decode()


def pem() -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "alice")])
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


REQUEST = pem()


def document(conditions: list[Object] | None = None, certificate: str = "", **spec: Any) -> Object:
    wanted = {"request": REQUEST, "signerName": "example.com/signer", "usages": ["client auth"], **spec}
    status = {"conditions": conditions} if conditions else {}
    return {
        "metadata": {"name": "c"},
        "spec": wanted,
        "status": status | ({"certificate": certificate} if certificate else {}),
    }


def test_the_server_says_who_asks(objects: Objects) -> None:
    obj = document([APPROVED], username="root", groups=["system:masters"], extra={"x": ["y"]})
    RequestStrategy().prepare_for_create(objects.request(ALICE, "create", *CSR), obj)
    spec = obj["spec"]
    assert (spec["username"], spec["uid"], spec["extra"]) == ("alice", "u1", {"scope": ["a"]})
    assert spec["groups"] == ["devs", "system:authenticated"]
    assert obj["status"] == {}


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({}, None),
        ({"request": ""}, "spec.request: Invalid value"),
        ({"usages": []}, "spec.usages: Required value"),
        ({"usages": ["flying"]}, 'spec.usages[0]: Unsupported value: "flying": supported values: "any"'),
        ({"usages": ["any", "any"]}, 'spec.usages[1]: Duplicate value: "any"'),
        ({"signerName": ""}, "spec.signerName: Required value"),
        ({"signerName": "x"}, "spec.signerName: Invalid value"),
        ({"signerName": "nodots/x"}, 'spec.signerName: Invalid value: "nodots": should be a domain with at least two'),
        (
            {"signerName": "kubernetes.io/legacy-unknown"},
            'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed',
        ),
        (
            {"expirationSeconds": 599},
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
        ),
    ],
)
def test_what_is_wrong_with_a_request(objects: Objects, spec: Object, error: str | None) -> None:
    found = [str(one) for one in RequestStrategy().validate(objects.request(ALICE, "create", *CSR), document(**spec))]
    assert len(found) == (error is not None)
    assert not error or found[0].startswith(error)


def change(objects: Objects, strategy: RequestStrategy, old: Object, new: Object) -> tuple[Object, list[str]]:
    request = objects.request(ALICE, "update", *CSR, name="c")
    obj = deepcopy(new)
    strategy.prepare_for_update(request, obj, deepcopy(old))
    return obj, [str(error) for error in strategy.validate_update(request, obj, deepcopy(old))]


def test_the_main_endpoint_changes_metadata_only(objects: Objects) -> None:
    old, new = document(), document([APPROVED], CERTIFICATE, signerName="other.com/x")
    new["metadata"]["labels"] = {"a": "b"}
    assert change(objects, RequestStrategy(), old, new) == ({**old, "metadata": new["metadata"]}, [])


def test_approval_adds_conditions_and_nothing_else(objects: Objects) -> None:
    obj, errors = change(objects, ApprovalStrategy(), document(), document([APPROVED], CERTIFICATE))
    assert errors == []
    assert "certificate" not in obj["status"]
    condition = obj["status"]["conditions"][0]
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"]
    assert condition["lastUpdateTime"].endswith("Z")


def test_a_decision_stands(objects: Objects) -> None:
    denied = {"type": "Denied", "status": "True"}
    _, errors = change(objects, ApprovalStrategy(), document([APPROVED]), document([denied]))
    assert errors == ['status.conditions: Forbidden: updates may not remove a condition of type "Approved"']
    _, errors = change(objects, ApprovalStrategy(), document(), document([APPROVED, denied]))
    assert errors == [
        'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'
    ]
    _, errors = change(objects, ApprovalStrategy(), document(), document([{"type": "Approved", "status": "False"}]))
    assert errors == ['status.conditions[0].status: Unsupported value: "False": supported values: "True"']


def test_signers_sign_once(objects: Objects) -> None:
    obj, errors = change(objects, StatusStrategy(), document([DECIDED]), document([DECIDED], CERTIFICATE))
    assert (obj["status"]["certificate"], errors) == (CERTIFICATE, [])
    other = base64.b64encode(new_ca("y").cert_pem).decode()
    _, errors = change(objects, StatusStrategy(), document([DECIDED], CERTIFICATE), document([DECIDED], other))
    assert errors == ["status.certificate: Forbidden: updates may not modify existing certificate content"]
    _, errors = change(objects, StatusStrategy(), document([DECIDED]), document([DECIDED], "Zm9v"))
    assert errors == [
        'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block'
    ]


def test_signers_decide_nothing(objects: Objects) -> None:
    _, errors = change(objects, StatusStrategy(), document(), document([APPROVED]))
    assert errors == ['status.conditions: Forbidden: updates may not add a condition of type "Approved"']
    changed = {**APPROVED, "reason": "other"}
    obj, errors = change(objects, StatusStrategy(), document([DECIDED]), document([changed]))
    assert errors == []
    assert obj["status"]["conditions"][0]["reason"] == "R"
    failed = {"type": "Failed", "status": "True"}
    assert change(objects, StatusStrategy(), document([DECIDED]), document([DECIDED, failed]))[1] == []
