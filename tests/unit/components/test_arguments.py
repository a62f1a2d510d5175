"""The flags that components are started with. That the real programs accept them, the integration tests show."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from kapstan.components.apiserver import APIServer, apiserver_arguments
from kapstan.components.arguments import arguments
from kapstan.components.certificates import issue_certificates, new_authorities
from kapstan.components.controllermanager import ControllerManager, controller_manager_arguments
from kapstan.components.controlplane import Options, Ports, control_plane_arguments
from kapstan.components.etcd import Etcd, etcd_arguments

PKI = PurePath("/pki")
PORTS = Ports(1, 2, 3, 4, 5)


def flags(given: tuple[str, ...]) -> dict[str, str]:
    return dict(argument.removeprefix("--").split("=", 1) for argument in given)


def an_apiserver(
    *, address: str = "127.0.0.1", advertise: str | None = None, extra: tuple[tuple[str, str], ...] = ()
) -> APIServer:
    return APIServer(
        bind_address=address,
        advertise_address=advertise,
        port=6443,
        certificates=PKI,
        etcd_servers=("https://127.0.0.1:2379",),
        extra_arguments=extra,
    )


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        pytest.param([], ("--a=1", "--b=2"), id="nothing added"),
        pytest.param([("c", "3")], ("--a=1", "--b=2", "--c=3"), id="added"),
        pytest.param([("a", "9")], ("--b=2", "--a=9"), id="replaced"),
        pytest.param([("a", "8"), ("a", "9")], ("--b=2", "--a=8", "--a=9"), id="replaced by several"),
        pytest.param([("--a", "9")], ("--b=2", "--a=9"), id="written with its dashes"),
    ],
)
def test_what_a_user_gives_replaces_the_default(extra: list[tuple[str, str]], expected: tuple[str, ...]) -> None:
    assert arguments({"a": "1", "b": "2", "absent": None}, extra) == expected


def test_every_file_that_a_flag_names_is_written() -> None:
    """Flags and certificates are written in different modules; a name that only one of them knows would be a bug."""
    folder = Path("/plane")
    given = control_plane_arguments(folder, Options(controller_manager=True, scheduler=True), PORTS)

    named = {value for component in given.values() for value in flags(component).values() if "/pki/" in value}
    written = {str(folder / "pki" / name) for name in issue_certificates(new_authorities()).files}
    assert named <= written
    assert len(named) > 20


def test_no_secret_is_an_argument() -> None:
    for component in control_plane_arguments(Path("/plane"), Options(), PORTS).values():
        assert not any("PRIVATE" in argument or "BEGIN" in argument for argument in component)


def test_etcd_takes_only_clients_with_a_certificate() -> None:
    given = flags(etcd_arguments(Etcd(client_port=1, peer_port=2, certificates=PKI, data=PurePath("/data"))))

    assert given["client-cert-auth"] == given["peer-client-cert-auth"] == "true"
    assert given["listen-client-urls"] == "https://127.0.0.1:1"
    assert given["initial-cluster"] == "etcd=https://127.0.0.1:2"
    assert "unsafe-no-fsync" not in given


def test_only_a_control_plane_that_need_not_be_durable_skips_the_disk() -> None:
    assert "--unsafe-no-fsync=true" in control_plane_arguments(Path("/plane"), Options(), PORTS)["etcd"]
    durable = control_plane_arguments(Path("/plane"), Options(durable=True), PORTS)["etcd"]
    assert not any("fsync" in argument for argument in durable)


def test_the_apiserver_authorizes_like_kubeadms() -> None:
    given = flags(apiserver_arguments(an_apiserver()))

    assert given["authorization-mode"] == "Node,RBAC"
    assert given["enable-admission-plugins"] == "NodeRestriction"
    assert given["enable-bootstrap-token-auth"] == given["allow-privileged"] == "true"
    assert given["requestheader-allowed-names"] == "front-proxy-client"


@pytest.mark.parametrize(
    ("advertise", "reconciler"),
    [
        pytest.param(None, "none", id="nobody else can reach loopback"),
        pytest.param("192.0.2.7", None, id="an address of the network"),
    ],
)
def test_a_loopback_address_is_not_published_as_endpoint(advertise: str | None, reconciler: str | None) -> None:
    given = flags(apiserver_arguments(an_apiserver(advertise=advertise)))

    assert given.get("endpoint-reconciler-type") == reconciler
    assert given["advertise-address"] == (advertise or "127.0.0.1")


def test_the_url_of_an_ipv6_address_has_brackets() -> None:
    assert an_apiserver(address="::1").url == "https://[::1]:6443"


def test_an_extra_argument_reaches_the_apiserver() -> None:
    given = flags(apiserver_arguments(an_apiserver(extra=(("authorization-mode", "AlwaysAllow"),))))

    assert given["authorization-mode"] == "AlwaysAllow"


@pytest.mark.parametrize(("with_manager", "disabled"), [(True, None), (False, "ServiceAccount")])
def test_without_controller_manager_pods_need_no_service_account(with_manager: bool, disabled: str | None) -> None:
    options = Options(controller_manager=with_manager)
    given = flags(control_plane_arguments(Path("/plane"), options, PORTS)["kube-apiserver"])

    assert given.get("disable-admission-plugins") == disabled


def test_node_addresses_are_given_out_only_from_a_pod_network() -> None:
    manager = ControllerManager(port=1, certificates=PKI, kubeconfig=PurePath("/kubeconfig"))
    assert "allocate-node-cidrs" not in flags(controller_manager_arguments(manager))

    manager = ControllerManager(port=1, certificates=PKI, kubeconfig=PurePath("/kubeconfig"), pod_cidr="10.0.0.0/16")
    given = flags(controller_manager_arguments(manager))
    assert (given["allocate-node-cidrs"], given["cluster-cidr"]) == ("true", "10.0.0.0/16")


def test_a_plane_has_the_components_that_are_asked_for_in_starting_order() -> None:
    assert Options().components == ("etcd", "kube-apiserver")
    assert Options(scheduler=True, controller_manager=True).components == (
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
    )
