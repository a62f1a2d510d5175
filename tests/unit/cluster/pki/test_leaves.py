"""Leaves are made when they are missing, and anew when they have to be: not before, and not for nothing."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.cluster.pki.leaves import Issuance, Issuer, Leaf, Leaves, renew
from kapstan.machinery.pki import CertificateAuthority, KeyAlgorithm, Usage, new_ca

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
CA = new_ca("kubernetes", now=NOW)
SERVER = Leaf(
    name="apiserver",
    issuer=Issuer.CLUSTER,
    common_name="kube-apiserver",
    dns_names=("a.example", "localhost"),
    ip_addresses=("127.0.0.1", "::1"),
    usages=(Usage.SERVER,),
)
ADMIN = Leaf(name="admin", issuer=Issuer.CLUSTER, common_name="admin", organizations=("system:masters", "ops"))


def renewed(
    files: Mapping[str, bytes],
    *leaves: Leaf,
    at: datetime = NOW,
    ca: CertificateAuthority = CA,
    issuance: Issuance | None = None,
) -> Leaves:
    return renew(leaves or (SERVER, ADMIN), {Issuer.CLUSTER: ca}, files, issuance or Issuance(), now=at)


def test_what_is_missing_is_made() -> None:
    made = renewed({})

    assert made.renewed == {"apiserver": "it was not there", "admin": "it was not there"}
    assert set(made.files) == {"apiserver.crt", "apiserver.key", "admin.crt", "admin.key"}


def test_what_is_good_is_kept() -> None:
    first = renewed({})
    again = renewed(first.files, at=NOW + 300 * DAY)

    assert again.renewed == {}
    assert again.files == first.files


def test_it_is_renewed_in_time_and_only_then() -> None:
    first = renewed({})

    assert first.next_renewal == first.pairs["admin"].not_after - 60 * DAY
    assert renewed(first.files, at=first.next_renewal - timedelta(seconds=1)).renewed == {}
    due = renewed(first.files, at=first.next_renewal)
    assert set(due.renewed) == {"apiserver", "admin"}
    assert due.renewed["admin"] == f"it ends on {first.pairs['admin'].not_after:%Y-%m-%d}"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param({"dns_names": ("b.example",)}, "its names have changed", id="dns names"),
        pytest.param({"ip_addresses": ("127.0.0.1",)}, "its names have changed", id="addresses"),
        pytest.param({"common_name": "other"}, "its subject has changed", id="user"),
        pytest.param({"organizations": ("other",)}, "its subject has changed", id="groups"),
    ],
)
def test_a_leaf_that_says_something_else_is_replaced(changed: dict[str, object], reason: str) -> None:
    from dataclasses import replace

    first = renewed({}, SERVER)

    assert renewed(first.files, replace(SERVER, **changed)).renewed == {"apiserver": reason}  # type: ignore[arg-type]


def test_names_in_another_order_or_form_are_the_same() -> None:
    from dataclasses import replace

    first = renewed({}, SERVER)
    same = replace(SERVER, dns_names=("localhost", "a.example"), ip_addresses=("0:0:0:0:0:0:0:1", "127.0.0.1"))

    assert renewed(first.files, same).renewed == {}


def test_leaves_of_another_authority_are_replaced() -> None:
    first = renewed({})

    assert set(renewed(first.files, ca=new_ca("kubernetes", now=NOW)).renewed.values()) == {"its authority has changed"}


def test_a_changed_algorithm_waits_for_the_next_renewal() -> None:
    rsa = Issuance(algorithm=KeyAlgorithm.RSA_2048)
    first = renewed({}, ADMIN)

    assert renewed(first.files, ADMIN, issuance=rsa).renewed == {}
    later = renewed(first.files, ADMIN, at=NOW + 320 * DAY, issuance=rsa)
    assert b"RSA PRIVATE KEY" in later.files["admin.key"]


@pytest.mark.parametrize("damage", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_damaged_files_are_as_good_as_none(damage: bytes) -> None:
    files = renewed({}, ADMIN).files

    assert set(renewed({**files, "admin.crt": damage}, ADMIN).renewed) == {"admin"}
    assert set(renewed({**files, "admin.key": damage}, ADMIN).renewed) == {"admin"}


def test_a_key_of_another_certificate_is_replaced_with_it() -> None:
    files, others = renewed({}).files, renewed({}).files

    assert set(renewed({**files, "admin.key": others["admin.key"]}).renewed) == {"admin"}


def test_a_leaf_that_lasts_as_long_as_its_authority_is_not_renewed_for_nothing() -> None:
    """The next could not last longer, so that renewing would never end."""
    short = new_ca("kubernetes", validity=90 * DAY, now=NOW)
    first = renewed({}, ca=short)

    assert renewed(first.files, ca=short, at=NOW + 60 * DAY).renewed == {}


@given(
    validity=st.integers(1, 1000).map(lambda days: days * DAY), before=st.integers(0, 2000).map(lambda days: days * DAY)
)
def test_a_new_leaf_is_never_due_at_once(validity: timedelta, before: timedelta) -> None:
    issuance = Issuance(validity=validity, renew_before=before)
    first = renewed({}, ADMIN, issuance=issuance)

    assert first.next_renewal > NOW
    assert renewed(first.files, ADMIN, issuance=issuance).renewed == {}
