"""All controllers together: which there are, and what they cost."""

from __future__ import annotations

import asyncio

import pytest

from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.controllers.manager import CONTROLLERS, KUBE_CONTROLLER_MANAGER, start
from kapstan.machinery.gvk import GroupVersionKind

from .conftest import World

SERVICE = GroupVersionKind("", "v1", "Service")
EVENT = GroupVersionKind("", "v1", "Event")


async def test_clusters_that_do_nothing_have_no_tasks() -> None:
    async with asyncio.TaskGroup() as tasks:
        before = len(asyncio.all_tasks())
        controllers = []
        for number in range(20):
            cluster = await new_cluster(f"test-{number}", tasks=tasks)
            controllers.append(await start(cluster))
        for one in controllers:
            await one.idle()
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == before
        for one in controllers:
            one.close()


async def test_controllers_can_be_left_out() -> None:
    async with asyncio.TaskGroup() as tasks:
        cluster = await new_cluster("test", tasks=tasks)
        controllers = await start(cluster, without=KUBE_CONTROLLER_MANAGER)
        await controllers.idle()
        assert "event-expiry" in controllers
        assert "garbage-collector-controller" not in controllers
        assert await cluster.api.find(GroupVersionKind("", "v1", "ServiceAccount"), "default", "default") is None
        controllers.close()


async def test_a_name_that_no_controller_has_is_refused() -> None:
    async with asyncio.TaskGroup() as tasks:
        cluster = await new_cluster("test", tasks=tasks)
        with pytest.raises(ValueError, match="no controller 'garbage'"):
            await start(cluster, without=["garbage"])


def test_names_are_those_of_kube_controller_manager() -> None:
    assert set(KUBE_CONTROLLER_MANAGER) < set(CONTROLLERS)
    assert "namespace-controller" in KUBE_CONTROLLER_MANAGER


async def test_the_api_server_has_a_service(world: World) -> None:
    service = await world.api.get(SERVICE, "kubernetes", "default")
    assert service["spec"]["clusterIP"] == "10.96.0.1"
    assert service["spec"]["ports"][0]["name"] == "https"
    assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}


async def test_the_range_of_service_addresses_can_be_read(world: World) -> None:
    found = await world.api.get(GroupVersionKind("networking.k8s.io", "v1", "ServiceCIDR"), "kubernetes")
    assert found["spec"]["cidrs"] == ["10.96.0.0/12"]
    assert [(one["type"], one["status"]) for one in found["status"]["conditions"]] == [("Ready", "True")]


async def test_the_service_leads_to_where_the_server_listens() -> None:
    """Also after it came back at another address; one that other machines cannot reach is no endpoint."""
    async with asyncio.TaskGroup() as tasks:
        cluster = await new_cluster("test", tasks=tasks)
        found = []
        for address in ("127.0.0.1:1234", "192.0.2.1:6443", "192.0.2.2:7443"):
            cluster.address = address
            (await start(cluster, without=CONTROLLERS)).close()
            service = await cluster.api.get(SERVICE, "kubernetes", "default")
            endpoints = await cluster.api.find(GroupVersionKind("", "v1", "Endpoints"), "kubernetes", "default")
            slice = await cluster.api.find(
                GroupVersionKind("discovery.k8s.io", "v1", "EndpointSlice"), "kubernetes", "default"
            )
            subsets = endpoints["subsets"] if endpoints else []
            found.append(
                (
                    service["spec"]["ports"][0]["targetPort"],
                    [one["ip"] for subset in subsets for one in subset["addresses"]],
                    [one for endpoint in (slice["endpoints"] if slice else []) for one in endpoint["addresses"]],
                    slice["ports"][0]["port"] if slice else None,
                )
            )
    assert found == [
        (1234, [], [], None),
        (6443, ["192.0.2.1"], ["192.0.2.1"], 6443),
        (7443, ["192.0.2.2"], ["192.0.2.2"], 7443),
    ]


async def test_two_services_never_get_the_same_address(world: World) -> None:
    for number in range(50):
        await world.create("Service", f"s-{number}", spec={"type": "NodePort", "ports": [{"port": 80}]})
    services = await world.api.list(SERVICE, "default")
    addresses = [service["spec"]["clusterIP"] for service in services]
    ports = [port["nodePort"] for service in services for port in service["spec"]["ports"] if "nodePort" in port]
    assert len(set(addresses)) == len(addresses) == 51
    assert len(set(ports)) == len(ports) == 50
