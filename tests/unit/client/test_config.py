"""Which config is found where, and what is said if it cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kapstan.client import config as config_module
from kapstan.client.config import Config, Impersonation
from kapstan.client.kubeconfig import Exec, Kubeconfig
from kapstan.machinery.errors import ConfigError

SECRET = "s3cr3t-value"
PEM = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = b"-----BEGIN EC PRIVATE KEY-----\nMIIB\n-----END EC PRIVATE KEY-----\n"


def kubeconfig(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **context: str
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "prod", "cluster": {"server": "https://10.0.0.1:6443", **(cluster or {})}}],
        "users": [{"name": "admin", "user": user or {}}],
        "contexts": [{"name": "main", "context": {"cluster": "prod", "user": "admin", **context}}],
        "current-context": "main",
    }


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither a pod, nor anybody's home."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "POD_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(config_module, "SERVICE_ACCOUNT", tmp_path / "serviceaccount")
    return tmp_path


def save(path: Path, server: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(kubeconfig({"server": server})))
    return path


def become_pod(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = folder / "serviceaccount"
    account.mkdir()
    (account / "token").write_text("pod-token\n")
    (account / "ca.crt").write_bytes(PEM)
    (account / "namespace").write_text("tools")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")


def test_the_order_is_path_then_kubeconfig_then_pod_then_home(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"no cluster is configured: .*/\.kube/config does not exist"):
        Config.load()
    save(nowhere / "home/.kube/config", "https://home:1")
    assert Config.load().server == "https://home:1"
    become_pod(nowhere, monkeypatch)
    assert Config.load().server == "https://10.96.0.1:443"
    monkeypatch.setenv("KUBECONFIG", f"{nowhere / 'missing'}:{save(nowhere / 'listed', 'https://listed:1')}")
    assert Config.load().server == "https://listed:1"
    assert Config.load(save(nowhere / "given", "https://given:1")).server == "https://given:1"


def test_kubeconfig_of_missing_files_only_falls_back_to_the_pod(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(nowhere / "missing"))
    with pytest.raises(ConfigError, match=r"KUBECONFIG names .*missing, but no such file exists"):
        Config.load()
    become_pod(nowhere, monkeypatch)
    assert Config.load().source == "in-cluster config"


def test_a_path_that_is_given_must_exist(nowhere: Path) -> None:
    with pytest.raises(ConfigError, match=f"kubeconfig {nowhere}/x does not exist"):
        Config.load(nowhere / "x")


def test_in_a_pod_the_service_account_is_used(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    become_pod(nowhere, monkeypatch)
    config = Config.in_cluster()
    account = nowhere / "serviceaccount"
    assert (config.token_file, config.ca_file) == (str(account / "token"), str(account / "ca.crt"))
    assert config.namespace == "tools"
    monkeypatch.setenv("POD_NAMESPACE", "mine")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert Config.in_cluster().namespace == "mine"
    assert Config.in_cluster().server == "https://[fd00::1]:443"
    (account / "token").unlink()
    with pytest.raises(ConfigError, match=r"the service account's file .*/token cannot be read: No such file"):
        Config.in_cluster()


def test_outside_a_pod_in_cluster_says_so() -> None:
    with pytest.raises(ConfigError, match="this is not a pod"):
        Config.in_cluster()


def test_everything_of_the_context_arrives(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    document = kubeconfig(
        {
            "server": "https://api.example:6443/prefix/",
            "tls-server-name": "kubernetes",
            "certificate-authority-data": PEM,
            "disable-compression": True,
            "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}],
        },
        {
            "client-certificate-data": PEM,
            "client-key-data": KEY,
            "tokenFile": str(tmp_path / "token"),
            "as": "jane",
            "as-uid": "7",
            "as-groups": ["dev", "ops"],
            "as-user-extra": {"scopes": ["view"]},
        },
        namespace="team",
    )
    config = Config.from_kubeconfig(document)
    assert config == Config(
        server="https://api.example:6443/prefix",
        namespace="team",
        source='kubeconfig: context "main"',
        ca=PEM,
        server_name="kubernetes",
        compression=False,
        cert=PEM,
        key=KEY,
        token_file=str(tmp_path / "token"),
        exec_config={"audience": "x"},
        impersonate=Impersonation(user="jane", uid="7", groups=("dev", "ops"), extra={"scopes": ("view",)}),
    )
    assert not config.anonymous().cert


def test_the_context_can_be_chosen() -> None:
    document = kubeconfig()
    document["contexts"].append({"name": "other", "context": {"cluster": "prod", "namespace": "there"}})
    assert Config.from_kubeconfig(document, context="other").namespace == "there"
    with pytest.raises(ConfigError, match='there is no context "third"; there are: main, other'):
        Config.from_kubeconfig(document, context="third")


def test_credentials_are_not_sent_in_the_clear() -> None:
    config = Config.from_kubeconfig(kubeconfig({"server": "http://localhost:8080"}, {"token": SECRET}))
    assert config.token == ""


def test_an_old_plugin_may_ask_people_unless_told_otherwise() -> None:
    plugin = {"command": "x", "apiVersion": "client.authentication.k8s.io/v1beta1"}
    config = Config.from_kubeconfig(kubeconfig(user={"exec": plugin}))
    assert config.exec == Exec(
        command="x", api_version="client.authentication.k8s.io/v1beta1", interactive_mode="IfAvailable"
    )


CLUSTER, USER = 'kubeconfig: cluster "prod": ', 'kubeconfig: user "admin": '


def test_without_a_current_context_the_contexts_are_named() -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_kubeconfig({**kubeconfig(), "current-context": ""})
    message = "kubeconfig: current-context is not set; set it, or choose a context: there are main"
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"server": ""}, "server is missing: the URL of the API server, such as https://10.0.0.1:6443"),
        ({"server": "10.0.0.1:6443"}, 'server: "10.0.0.1:6443" is not a URL that starts with https:// or http://'),
        ({"server": "https://"}, 'server: "https://" is not a URL that starts with https:// or http://'),
        ({"server": "https://a:99999"}, 'server: "https://a:99999" is not a URL that starts with https:// or http://'),
        (
            {"proxy-url": f"ftp://me:{SECRET}@proxy"},
            'proxy-url: "ftp://me:<hidden>@proxy" is not a URL that starts with '
            "http:// or https:// or socks5:// or socks5h://",
        ),
        (
            {"certificate-authority": "/ca", "certificate-authority-data": PEM},
            "certificate-authority and certificate-authority-data are both set; remove one",
        ),
        (
            {"insecure-skip-tls-verify": True, "certificate-authority-data": PEM},
            "insecure-skip-tls-verify is set, so certificate-authority has no use; remove one",
        ),
        (
            {"certificate-authority-data": b"junk"},
            "certificate-authority-data: not PEM: expected -----BEGIN CERTIFICATE----- once it is decoded from base64",
        ),
        (
            {"certificate-authority": "/no/such/ca"},
            "certificate-authority /no/such/ca cannot be read: No such file or directory",
        ),
    ],
)
def test_clusters_that_cannot_be_used(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_kubeconfig(kubeconfig(changes))
    assert str(caught.value) == CLUSTER + message


V1 = "client.authentication.k8s.io/v1"


@pytest.mark.parametrize(
    ("user", "message"),
    [
        (
            {"auth-provider": {"name": "gcp", "config": {"access-token": SECRET}}},
            'auth-provider "gcp" is not supported; use an exec credential plugin instead',
        ),
        (
            {"token": SECRET, "username": "me"},
            "token and username are both set; only one way to authenticate is allowed",
        ),
        ({"as-groups": ["dev"]}, 'as-uid, as-groups and as-user-extra need "as", the user to impersonate'),
        (
            {"client-certificate-data": PEM},
            "client-certificate is set, but client-key is not; a client certificate needs both",
        ),
        (
            {"client-key-data": KEY},
            "client-key is set, but client-certificate is not; a client certificate needs both",
        ),
        (
            {"client-certificate-data": PEM, "client-key": "/k", "client-key-data": KEY},
            "client-key and client-key-data are both set; remove one",
        ),
        (
            {"client-certificate-data": PEM, "client-key-data": SECRET.encode()},
            "client-key-data: not PEM: expected -----BEGIN PRIVATE KEY----- once it is decoded from base64",
        ),
        ({"tokenFile": "/no/token"}, "tokenFile /no/token cannot be read: No such file or directory"),
        ({"exec": {"apiVersion": V1}}, "exec: command is missing: the program to ask for credentials"),
        (
            {"exec": {"command": "x", "apiVersion": f"{V1}alpha1"}},
            f'exec: apiVersion "{V1}alpha1" is not supported; it can be {V1} or {V1}beta1',
        ),
        (
            {"exec": {"command": "x", "apiVersion": V1}},
            "exec: interactiveMode is missing; it can be Never, IfAvailable or Always",
        ),
        (
            {"exec": {"command": "x", "apiVersion": V1, "interactiveMode": "Never", "env": [{"value": SECRET}]}},
            "exec: an env entry has no name",
        ),
    ],
)
def test_users_that_cannot_be_used(user: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_kubeconfig(kubeconfig(user=user))
    assert str(caught.value) == USER + message


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"cluster": "gone"}, 'its cluster "gone" does not exist; there are: prod'),
        ({"user": "gone"}, 'its user "gone" does not exist; there are: admin'),
        ({"cluster": ""}, "it names no cluster"),
    ],
)
def test_contexts_that_lead_nowhere(context: dict[str, str], message: str) -> None:
    document = kubeconfig()
    document["contexts"][0]["context"].update(context)
    with pytest.raises(ConfigError) as caught:
        Config.from_kubeconfig(document)
    assert str(caught.value) == f'kubeconfig: context "main": {message}'


def test_secrets_do_not_show() -> None:
    config = Config(server="https://a", token=SECRET, password=SECRET, key=SECRET.encode(), namespace="x")
    assert SECRET not in repr(config)
    assert SECRET not in str(config)
    assert repr(config) == "Config(server='https://a', namespace='x', key=<hidden>, token=<hidden>, password=<hidden>)"


def test_a_kubeconfig_may_be_text() -> None:
    text = Kubeconfig.from_dict(kubeconfig(namespace="there")).to_yaml()
    assert Config.from_kubeconfig(text).namespace == "there"
