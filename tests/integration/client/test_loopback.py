"""A server of the same process, asked without a socket: the same answers, and the same people let in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kapstan.apiserver.loopback import Answer, Loopback, Visitor
from kapstan.apiserver.server import EmbeddedServer
from kapstan.client import Client, Config, Patch, loopback
from kapstan.k8s.core_v1 import ConfigMap, Secret
from kapstan.machinery.errors import AlreadyExists, ConnectionFailed, Forbidden, NotFound, RequestEntityTooLarge
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.pki import new_ca


class Counting:
    """Counts what goes the short way."""

    def __init__(self, server: Loopback) -> None:
        self.server = server
        self.asked = 0

    def admit(self, authority: bytes, identity: bytes) -> Counting | None:
        self.visitor = self.server.admit(authority, identity)
        return self if self.visitor is not None else None

    async def ask(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> Answer:
        self.asked += 1
        assert isinstance(self.visitor, Visitor)
        return await self.visitor.ask(method, target, headers, body)


@pytest.fixture
async def server() -> AsyncIterator[EmbeddedServer]:
    async with EmbeddedServer() as server:
        yield server


@pytest.fixture
async def short(server: EmbeddedServer) -> AsyncIterator[Counting]:
    """The short way to the server."""
    counting = Counting(Loopback(server.cluster))
    with loopback.reachable(server.cluster.address, counting):
        yield counting


@pytest.fixture
async def client(server: EmbeddedServer) -> AsyncIterator[Client]:
    async with Client(Config.from_kubeconfig(server.kubeconfig())) as client:
        yield client


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


async def test_everything_goes_the_short_way(client: Client, short: Counting) -> None:
    made = await client.create(config_map("a", x="1"))
    await client.patch(made, Patch.merge({"data": {"x": "2"}}))
    assert (await client.get(ConfigMap, "a", "default")).data == {"x": "2"}
    assert [one.name for one in await client.list(ConfigMap, "default", fields="metadata.name=a")] == ["a"]
    with pytest.raises(AlreadyExists):
        await client.create(config_map("a"))
    await client.delete(made)
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a", "default")
    assert short.asked == 7


async def test_the_same_is_answered_both_ways(client: Client, server: EmbeddedServer) -> None:
    paths = ["/version", "/api", "/apis", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt", "/readyz?verbose"]
    long = [await client.request("GET", path) for path in paths]
    with loopback.reachable(server.cluster.address, Loopback(server.cluster)):
        assert [await client.request("GET", path) for path in paths] == long


async def test_a_watch_goes_on_until_it_is_left(client: Client, short: Counting) -> None:
    async with client.watch(ConfigMap, "default", fields="metadata.name=a") as events:
        await client.create(config_map("a", x="1"))
        first = await anext(events)
        await client.patch(first.object, Patch.merge({"data": {"x": "2"}}))
        second = await anext(events)
    assert [(first.type, first.object.data), (second.type, second.object.data)] == [
        ("ADDED", {"x": "1"}),
        ("MODIFIED", {"x": "2"}),
    ]


async def test_a_watch_ends_with_the_server(client: Client, server: EmbeddedServer, short: Counting) -> None:
    async with client.watch(ConfigMap, "default") as events:
        assert (await anext(events)).object.name == "kube-root-ca.crt"
        server.cluster.close()
        assert [event async for event in events] == []


async def test_one_who_reads_slowly_holds_up_nobody_and_misses_nothing(client: Client, short: Counting) -> None:
    async with client.watch(ConfigMap, "default", labels="bulk=yes") as events:
        for number in range(100):
            made = config_map(f"c{number}", x="y" * 10_000)
            made.metadata.labels = {"bulk": "yes"}
            await client.create(made)
        seen = [(await anext(events)).object.name for _ in range(100)]
    assert seen == [f"c{number}" for number in range(100)]


async def test_a_request_that_is_cancelled_ends(client: Client, short: Counting) -> None:
    async with client.watch(Secret, "default") as events:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(events)


async def test_a_body_may_not_be_too_large(client: Client, short: Counting) -> None:
    with pytest.raises(RequestEntityTooLarge):
        await client.create(config_map("large", x="y" * (4 << 20)))


async def test_rights_are_those_of_whoever_asks(server: EmbeddedServer, short: Counting) -> None:
    nobody = Config.from_kubeconfig(server.endpoint.kubeconfig("nobody", ()))
    async with Client(nobody) as client:
        with pytest.raises(Forbidden, match='User "nobody" cannot list resource "secrets"'):
            await client.list(Secret, "default")
    assert short.asked == 1


async def test_a_certificate_of_another_authority_does_not_get_in(server: EmbeddedServer, short: Counting) -> None:
    admin = Config.from_kubeconfig(server.kubeconfig())
    stranger = new_ca("kubernetes").issue("kubernetes-admin", organizations=["system:masters"])
    async with Client(admin.replace(cert=stranger.cert_pem, key=stranger.key_pem)) as client:
        with pytest.raises(ConnectionFailed):
            await client.list(Secret, "default")
    assert short.asked == 0


async def test_a_certificate_without_its_key_does_not_get_in(server: EmbeddedServer) -> None:
    own = Loopback(server.cluster)
    admin = Config.from_kubeconfig(server.kubeconfig())
    other = server.cluster.credentials.client("other", ())
    assert own.admit(admin.ca, admin.cert + admin.key) is not None
    assert own.admit(admin.ca, admin.cert + other.key_pem) is None
    assert own.admit(new_ca("kubernetes").cert_pem, admin.cert + admin.key) is None
    serving = server.cluster.credentials.serving(["127.0.0.1"])
    assert own.admit(admin.ca, serving.cert_pem + serving.key_pem) is None


async def test_another_thread_takes_the_long_way(server: EmbeddedServer, short: Counting) -> None:
    async def ask() -> bytes:
        async with Client(Config.from_kubeconfig(server.kubeconfig())) as client:
            return await client.request("GET", "/readyz")

    assert await asyncio.to_thread(asyncio.run, ask()) == b"ok"
    assert short.asked == 0
