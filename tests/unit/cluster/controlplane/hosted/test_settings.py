"""What is not said is decided: as the schema would, and from the cluster."""

from datetime import timedelta

import pytest
from tests.unit.cluster.controlplane.hosted.builders import NOW, UID, some_settings

from kapstan.cluster.controlplane.hosted.settings import Endpoint
from kapstan.machinery.pki import KeyAlgorithm


def test_what_is_not_said_is_usual() -> None:
    settings = some_settings()

    assert (settings.id, settings.replicas, settings.runtime, settings.datastore) == (
        UID,
        1,
        "Process",
        "DedicatedEtcd",
    )
    assert settings.network.services == ("10.96.0.0/12",)
    assert (settings.network.api_address, settings.network.dns_address) == ("10.96.0.1", "10.96.0.10")
    assert settings.strategy == "BlueGreen"
    assert settings.issuance.validity == timedelta(days=365)


def test_the_network_is_the_clusters() -> None:
    network = {
        "services": {"cidrBlocks": ["fd00::/108", "10.0.0.0/16"]},
        "pods": {"cidrBlocks": ["10.1.0.0/16"]},
        "serviceDomain": "corp",
    }

    found = some_settings(cluster={"clusterNetwork": network}).network

    assert found.services == ("fd00::/108", "10.0.0.0/16")
    assert (found.pods, found.domain, found.api_address) == (("10.1.0.0/16",), "corp", "fd00::1")


def test_data_that_were_moved_keep_their_name() -> None:
    assert some_settings(datastore={"type": "SharedEtcd", "prefix": "old"}).id == "old"


def test_names_are_the_users_and_the_clusters() -> None:
    settings = some_settings(
        apiServer={"certSANs": ["b.example", "10.0.0.1"]},
        cluster={"controlPlaneEndpoint": {"host": "c.example", "port": 443}},
    )

    assert settings.names == ("b.example", "10.0.0.1", "c.example")


def test_an_endpoint_counts_when_it_is_whole() -> None:
    assert some_settings().published is None
    assert some_settings(controlPlaneEndpoint={"host": "a"}).published is None
    assert some_settings(controlPlaneEndpoint={"host": "a", "port": 1}).published == Endpoint("a", 1)


@pytest.mark.parametrize(
    ("host", "url"),
    [("a.example", "https://a.example:1"), ("::1", "https://[::1]:1"), ("1.2.3.4", "https://1.2.3.4:1")],
)
def test_endpoints_are_written_as_urls(host: str, url: str) -> None:
    assert Endpoint(host, 1).url == url


def test_a_restart_is_due_when_its_time_has_come() -> None:
    later, earlier = NOW + timedelta(seconds=1), NOW - timedelta(seconds=1)

    assert some_settings(rollout={"after": later.isoformat()}).restart_after is None
    assert some_settings(rollout={"after": earlier.isoformat()}).restart_after == earlier


def test_certificates_are_as_asked() -> None:
    issuance = some_settings(
        certificates={"keyAlgorithm": "RSA-3072", "validityDays": 30, "renewBeforeDays": 3}
    ).issuance

    assert (issuance.algorithm, issuance.validity.days, issuance.renew_before.days) == (KeyAlgorithm.RSA_3072, 30, 3)
