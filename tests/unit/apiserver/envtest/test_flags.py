"""kube-apiserver's flags, as envtest and its users write them."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from kapstan.apiserver.authn.jwt import Signer
from kapstan.apiserver.credentials import ISSUER
from kapstan.apiserver.envtest.credentials import FileCredentials, static_tokens
from kapstan.apiserver.envtest.flags import parse, usage
from kapstan.apiserver.request import UserInfo
from kapstan.machinery.errors import ConfigError
from kapstan.machinery.pki import KeyAlgorithm, load_certificates, new_ca, new_signing_key


@pytest.mark.parametrize("arguments", [["--secure-port=8443"], ["--secure-port", "8443"], ["-secure-port=8443"]])
def test_a_value_follows_in_either_way(arguments: list[str]) -> None:
    assert parse([*arguments, "--allow-privileged", "--bind-address=127.0.0.2"]).port == 8443


def test_lists_add_up_and_everything_else_is_overwritten() -> None:
    flags = parse(
        ["--disable-admission-plugins=A,B", "--disable-admission-plugins=C", "--secure-port=1", "--secure-port=2"]
    )
    assert flags.disabled_plugins == ("A", "B", "C")
    assert flags.port == 2


def test_what_has_no_effect_is_known() -> None:
    assert parse(["--feature-gates=A=true", "--etcd-servers=x", "--feature-gates=B=true"]).ignored == ("feature-gates",)


def test_services_have_the_first_network() -> None:
    assert parse(["--service-cluster-ip-range=10.0.0.0/24,fd00::/108"]).network == IPv4Network("10.0.0.0/24")
    assert parse([]).network is None


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("serve", "unknown command 'serve'"),
        ("--secure-port=http", "'http' is not a port"),
        ("--service-cluster-ip-range=10.0.0.1/24", "10.0.0.1/24 has host bits set"),
        ("--service-cluster-ip-range=10.0.0.0/32", "10.0.0.0/32 has fewer than 8 addresses"),
        ("--client-ca-file=/nowhere/ca.crt", "--client-ca-file: cannot read /nowhere/ca.crt: No such file"),
    ],
)
def test_wrong_flags_are_told_in_a_sentence(argument: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        flags = parse([argument])
        assert (flags.port, flags.network, FileCredentials(flags)) is None


def test_help_knows_no_insecure_port() -> None:
    """envtest asks for it, and would give the flag to a server that has it."""
    assert "--cert-dir" in usage()
    assert "insecure-port" not in usage()


def test_certificates_are_those_of_the_folder(tmp_path: Path) -> None:
    clients, serving = new_ca("clients"), new_ca("serving").issue("kube-apiserver", dns_names=["localhost"])
    (tmp_path / "ca.crt").write_bytes(clients.cert_pem)
    (tmp_path / "apiserver.crt").write_bytes(serving.cert_pem)
    (tmp_path / "apiserver.key").write_bytes(serving.key_pem)
    found = FileCredentials(parse([f"--cert-dir={tmp_path}", f"--client-ca-file={tmp_path / 'ca.crt'}"]))
    assert found.serving(["127.0.0.1"]) == serving
    assert clients.certificate in load_certificates(found.client_authorities)
    assert found.issuer == ISSUER


def test_a_server_without_certificates_makes_its_own(tmp_path: Path) -> None:
    found = FileCredentials(parse([f"--cert-dir={tmp_path}"]))
    assert found.serving(["127.0.0.1"]).not_after > datetime.now(UTC)


def test_tokens_are_signed_with_the_key_that_is_given(tmp_path: Path) -> None:
    key = new_signing_key(KeyAlgorithm.RSA_2048)
    (tmp_path / "sa.key").write_bytes(key.key_pem)
    arguments = [f"--service-account-signing-key-file={tmp_path / 'sa.key'}", "--service-account-issuer=https://here/"]
    found = FileCredentials(parse(arguments))
    assert found.issuer == "https://here/"
    assert found.signing_key.public_pem == key.public_pem
    assert Signer(found.signing_key.key_pem).verifier.algorithm == "RS256"


def test_a_key_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "sa.key").write_text("secret")
    with pytest.raises(ConfigError, match="not an unencrypted PEM private key") as refused:
        FileCredentials(parse([f"--service-account-signing-key-file={tmp_path / 'sa.key'}"]))
    assert "secret" not in str(refused.value)


def test_static_tokens_name_users_and_groups(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text('abc,ann,1,"admins, staff"\ndef,bob,2\n')
    found = static_tokens(parse([f"--token-auth-file={tmp_path / 'tokens'}"]))
    assert found == {"abc": UserInfo("ann", "1", ("admins", "staff")), "def": UserInfo("bob", "2")}


@pytest.mark.parametrize("text", ["abc,ann\n", ",ann,1\n"])
def test_an_incomplete_token_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens").write_text(text)
    with pytest.raises(ConfigError, match="needs a token, a user name and a uid"):
        static_tokens(parse([f"--token-auth-file={tmp_path / 'tokens'}"]))


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_bytes(b"\xff\xfe,ann,1\n")
    with pytest.raises(ConfigError, match="no text of comma-separated values"):
        static_tokens(parse([f"--token-auth-file={tmp_path / 'tokens'}"]))
    with pytest.raises(ConfigError, match="--cert-dir: cannot read"):
        FileCredentials(parse([f"--cert-dir={tmp_path / 'tokens'}"]))
