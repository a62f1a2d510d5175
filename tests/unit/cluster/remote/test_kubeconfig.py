"""What the kubeconfig of a workload cluster may ask of us."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.cluster.remote.kubeconfig import BadKubeconfig, config_of, is_kubeconfig, secret_name
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.meta import ObjectMeta


def a_secret(value: str | bytes = b"", *, user: dict[str, Any] | None = None, ca_file: str = "") -> Secret:
    cluster = {"server": "https://c.example.com"} | ({"certificate-authority": ca_file} if ca_file else {})
    kubeconfig = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user or {"token": "hunter2"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    text = value.encode() if isinstance(value, str) else value
    data = {"value": text or to_yaml(kubeconfig).encode()}
    return Secret(metadata=ObjectMeta(name="c-kubeconfig", namespace="n"), data=data)


def test_a_kubeconfig_says_how_to_connect() -> None:
    config = config_of(a_secret())
    assert (config.server, config.token) == ("https://c.example.com", "hunter2")


def test_a_secret_is_found_by_its_name() -> None:
    assert is_kubeconfig(secret_name("c")) == "c"
    assert is_kubeconfig("c-ca") == ""


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        pytest.param(
            Secret(metadata=ObjectMeta(name="c-kubeconfig", namespace="n")), "the key value is missing", id="empty"
        ),
        pytest.param(a_secret("clusters: {"), "not valid YAML", id="no YAML"),
        pytest.param(
            a_secret(
                user={
                    "exec": {
                        "command": "rm",
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "interactiveMode": "Never",
                    }
                }
            ),
            "cannot use exec",
            id="a program",
        ),
        pytest.param(a_secret(user={"tokenFile": "/etc/hostname"}), "cannot name files", id="a token file"),
        pytest.param(a_secret(ca_file="/etc/hostname"), "cannot name files", id="a CA file"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(secret: Secret, why: str) -> None:
    """It may neither run programs nor read files of this process; and nothing that it holds is told."""
    with pytest.raises(BadKubeconfig, match=why) as refused:
        config_of(secret)
    assert "Secret n/c-kubeconfig" in str(refused.value)
    assert "hunter2" not in str(refused.value)
