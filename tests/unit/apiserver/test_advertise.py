"""Where pods are told to find the server."""

from __future__ import annotations

import ipaddress

import pytest

from kapstan.apiserver.advertise import advertised
from kapstan.apiserver.server import EmbeddedServer
from kapstan.machinery.gvk import GroupVersionKind


def test_an_address_that_others_can_reach_is_advertised_as_it_is() -> None:
    assert advertised("203.0.113.7") == "203.0.113.7"
    assert advertised("127.0.0.1", "203.0.113.8") == "203.0.113.8"


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1"])
def test_instead_of_an_address_of_this_machine_alone_that_of_an_interface_is_advertised(host: str) -> None:
    found = advertised(host)  # none on a machine without a network
    assert not found or not ipaddress.ip_address(found).is_loopback


async def test_the_service_leads_to_the_advertised_address() -> None:
    async with EmbeddedServer(advertise="203.0.113.7") as server:
        api, port = server.cluster.api, server.endpoint.port
        endpoints = await api.get(GroupVersionKind("", "v1", "Endpoints"), "kubernetes", "default")
        found = await api.get(GroupVersionKind("discovery.k8s.io", "v1", "EndpointSlice"), "kubernetes", "default")
    subset = endpoints["subsets"][0]
    assert (subset["addresses"], subset["ports"][0]["port"]) == ([{"ip": "203.0.113.7"}], port)
    assert (found["endpoints"][0]["addresses"], found["ports"][0]["port"]) == (["203.0.113.7"], port)
