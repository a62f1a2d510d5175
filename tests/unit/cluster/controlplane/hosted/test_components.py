"""Flags: what every control plane has, what follows from its settings, and what a user adds."""

from dataclasses import replace

import pytest
from tests.unit.cluster.controlplane.hosted.builders import AUTHORITIES, DATASTORE, LAYOUT, some_settings

from kapstan.cluster.controlplane.hosted.components import desired_components
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName, ComponentSpec, Datastore
from kapstan.cluster.controlplane.hosted.settings import Settings
from kapstan.cluster.controlplane.hosted.validation import RESERVED_FLAGS
from kapstan.cluster.pki.authorities import ClusterAuthorities
from kapstan.machinery.pki import new_ca, new_signing_key

ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER = ComponentName
FIELDS = {
    "apiServer": API_SERVER,
    "controllerManager": CONTROLLER_MANAGER,
    "scheduler": SCHEDULER,
    "etcd": ETCD,
}


def components(
    settings: Settings, datastore: Datastore = DATASTORE, authorities: ClusterAuthorities = AUTHORITIES
) -> dict[ComponentName, ComponentSpec]:
    return {spec.name: spec for spec in desired_components(settings, LAYOUT, datastore, authorities)}


def flags(spec: ComponentSpec) -> dict[str, str]:
    pairs = [argument.removeprefix("--").partition("=") for argument in spec.arguments]
    return {name: value for name, _, value in pairs}


def test_components_come_in_the_order_in_which_they_need_one_another() -> None:
    assert list(components(some_settings())) == [ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER]


def test_a_shared_etcd_is_none_of_ours() -> None:
    shared = Datastore(servers=("https://127.0.0.1:1", "https://127.0.0.1:2"), prefix="/abc")

    found = components(some_settings(datastore={"type": "SharedEtcd"}), shared)

    assert ETCD not in found
    assert flags(found[API_SERVER])["etcd-servers"] == "https://127.0.0.1:1,https://127.0.0.1:2"
    assert flags(found[API_SERVER])["etcd-prefix"] == "/abc"


def test_everyone_listens_on_its_own_port() -> None:
    found = components(some_settings())

    ports = {name: flags(found[name])["secure-port"] for name in (API_SERVER, CONTROLLER_MANAGER, SCHEDULER)}
    assert ports == {API_SERVER: "6443", CONTROLLER_MANAGER: "10257", SCHEDULER: "10259"}
    assert flags(found[ETCD])["listen-client-urls"] == "https://127.0.0.1:2379"


def test_one_replica_need_not_win_an_election_and_may_ask_much() -> None:
    found = components(some_settings(replicas=1))

    for name in (CONTROLLER_MANAGER, SCHEDULER):
        given = flags(found[name])
        assert given["leader-elect"] == "false"
        assert (given["kube-api-qps"], given["kube-api-burst"]) == ("300", "600")


def test_hibernating_changes_no_command() -> None:
    """Or waking up would look like an upgrade."""
    assert components(some_settings(replicas=0)) == components(some_settings(replicas=1))


def test_the_network_of_the_cluster_is_told_to_everybody() -> None:
    network = {"services": {"cidrBlocks": ["10.5.0.0/16"]}, "pods": {"cidrBlocks": ["10.6.0.0/16"]}}
    found = components(some_settings(cluster={"clusterNetwork": network}))

    assert flags(found[API_SERVER])["service-cluster-ip-range"] == "10.5.0.0/16"
    manager = flags(found[CONTROLLER_MANAGER])
    assert (manager["cluster-cidr"], manager["allocate-node-cidrs"]) == ("10.6.0.0/16", "true")
    assert manager["cluster-name"] == "c1"


def test_what_the_user_adds_replaces_and_repeats() -> None:
    arguments = [
        {"name": "authorization-mode", "value": "RBAC"},
        {"name": "tls-sni-cert-key", "value": "a"},
        {"name": "tls-sni-cert-key", "value": "b"},
    ]
    given = components(some_settings(apiServer={"extraArgs": arguments}))[API_SERVER].arguments

    assert "--authorization-mode=Node,RBAC" not in given
    assert given[-3:] == ("--authorization-mode=RBAC", "--tls-sni-cert-key=a", "--tls-sni-cert-key=b")


def test_memory_is_saved_unless_the_user_says_otherwise() -> None:
    """Of the API server; the others have so little that they would only be slower."""
    usual = components(some_settings())
    given = components(some_settings(apiServer={"env": [{"name": "GOGC", "value": "100"}]}))

    assert usual[API_SERVER].environment["GOGC"] == "60"
    assert given[API_SERVER].environment["GOGC"] == "100"
    assert [name for name in ComponentName if "GOGC" in usual[name].environment] == [API_SERVER]


def test_a_restart_that_is_due_changes_every_command() -> None:
    before = components(some_settings())
    after = components(some_settings(rollout={"after": "2025-12-31T00:00:00Z"}))

    assert all(before[name] != after[name] for name in ComponentName)


@pytest.mark.parametrize("which", ["cluster", "front_proxy", "service_account", "etcd"])
def test_another_authority_changes_every_command(which: str) -> None:
    """Whom they trust they read only when they start."""
    made = new_signing_key() if which == "service_account" else new_ca("another")

    before = components(some_settings())
    after = components(some_settings(), authorities=replace(AUTHORITIES, **{which: made}))  # type: ignore[arg-type]

    assert all(before[name] != after[name] for name in ComponentName)
    assert components(some_settings()) == before


def test_a_configuration_of_authorization_takes_the_place_of_the_modes() -> None:
    """kube-apiserver refuses to be given both."""
    argument = {"name": "authorization-config", "value": "/etc/authorization.yaml"}
    given = flags(components(some_settings(apiServer={"extraArgs": [argument]}))[API_SERVER])

    assert "authorization-mode" not in given
    assert given["authorization-config"] == "/etc/authorization.yaml"


def test_flags_that_are_reserved_are_those_that_are_given() -> None:
    """A reserved flag that we do not give would be a riddle to whoever wants to set it."""
    found = components(some_settings())
    optional = {"config-file", "permit-port-sharing", "unsafe-no-fsync", "wal-dir"}

    for field, reserved in RESERVED_FLAGS.items():
        assert reserved - optional <= set(flags(found[FIELDS[field]])), field
