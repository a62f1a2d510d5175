"""The client above its transport: what it asks for, what it repeats, what it makes of odd answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from msgspec import field

from kapstan.client import Client, NoKindMatch, Patch, RetryPolicy, UnexpectedAnswer, WatchEvent, metadata_of
from kapstan.k8s import core_v1 as core
from kapstan.machinery.codec import encode
from kapstan.machinery.errors import ConnectionFailed, Expired, NotFound, TooManyRequests
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Model, Resource
from kapstan.machinery.scheme import resource

from .conftest import Handler, Server, status
from .test_transport import cut

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "resourceVersion": "7"}}
THING = GroupVersionKind("example.org", "v1", "Thing")


class StrictSpec(Model):
    size: int


@resource(group="client-unit.example.org", version="v1")
class Strict(Resource):
    """A kind whose every object needs a spec."""

    spec: StrictSpec
    notes: list[str] = field(default_factory=list)


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    await server.start()
    async with Client(server.config(), field_manager="me", retry=RetryPolicy(first=0.001)) as client:
        yield client


def answer(content: Any, **options: Any) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response(content, **options)

    return handler


def lines(*texts: str) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(body="\n".join(texts).encode())

    return handler


def pod(**metadata: Any) -> core.Pod:
    return core.Pod(metadata=ObjectMeta(name="p", namespace="n", **metadata))


Write = Callable[[Client], Awaitable[Any]]
REPEATED: dict[str, Write] = {
    "get": lambda c: c.get(core.Pod, "p", "n"),
    "list": lambda c: c.list(core.Pod),
    "apply": lambda c: c.apply(pod()),
    "merge patch": lambda c: c.patch(pod(), Patch.merge({"metadata": {"labels": {"a": "b"}}})),
    "delete by uid": lambda c: c.delete(core.Pod, "p", "n", uid="u"),
    "scale": lambda c: c.scale(core.Pod, "p", "n", replicas=1),
}
NOT_REPEATED: dict[str, Write] = {
    "create": lambda c: c.create(pod()),
    "update": lambda c: c.update(POD),
    "locked patch": lambda c: c.patch(pod(), Patch.merge({"metadata": {"resourceVersion": "1"}})),
    "json patch": lambda c: c.patch(pod(), Patch.json([{"op": "add", "path": "/spec/tolerations/-", "value": {}}])),
    "strategic patch": lambda c: c.patch(pod(), Patch.strategic({"spec": {}})),
    "delete by name": lambda c: c.delete(core.Pod, "p", "n"),
    "delete all": lambda c: c.delete_all_of(core.Pod, "n"),
    "evict": lambda c: c.evict("p", "n"),
}


@pytest.mark.parametrize("write", REPEATED.values(), ids=REPEATED)
async def test_what_settles_a_state_is_repeated_after_a_lost_connection(
    server: Server, client: Client, write: Write
) -> None:
    server.answers(cut, answer({**POD, "items": []}))
    await write(client)
    assert len(server.requests) == 2


@pytest.mark.parametrize("write", NOT_REPEATED.values(), ids=NOT_REPEATED)
async def test_what_could_happen_twice_is_not(server: Server, client: Client, write: Write) -> None:
    server.answers(cut, answer(POD))
    with pytest.raises(ConnectionFailed, match="the connection was lost before the answer was complete"):
        await write(client)
    assert len(server.requests) == 1


async def test_an_eviction_is_refused_at_once(server: Server, client: Client) -> None:
    server.answers(status(429, "TooManyRequests", "Cannot evict pod", Retry_After="10"))
    with pytest.raises(TooManyRequests, match="evict Pod n/p: Cannot evict pod"):
        await client.evict("p", "n")
    assert len(server.requests) == 1


async def test_options_become_parameters(server: Server, client: Client) -> None:
    server.handler = answer(POD)
    await client.create(pod(), field_validation="Strict", dry_run=True)
    await client.apply(pod(), field_manager="other manager", force=False)
    await client.apply(pod())
    await client.delete(core.Pod, "p", "n")
    assert [request.path_qs for request in server.requests] == [
        "/api/v1/namespaces/n/pods?fieldManager=me&fieldValidation=Strict&dryRun=All",
        "/api/v1/namespaces/n/pods/p?fieldManager=other+manager",
        "/api/v1/namespaces/n/pods/p?fieldManager=me&force=true",
        "/api/v1/namespaces/n/pods/p",
    ]
    assert server.requests[2].headers["content-type"] == "application/apply-patch+yaml"


async def test_metadata_is_asked_for_as_such(server: Server, client: Client) -> None:
    server.handler = answer({"metadata": {}, "items": [POD]})
    (found,) = await client.list(metadata_of(core.Pod))
    assert (found.kind, found.name) == ("Pod", "p")
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    assert server.requests[0].headers["accept"] == accept


async def test_an_error_event_is_raised(server: Server, client: Client) -> None:
    expired = (
        '{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410,'
        '"message":"too old resource version: 1 (9)"}}'
    )
    server.handler = lines('{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p"}}}', "", expired)
    watch = client.watch(core.Pod, resource_version="1")
    assert (await anext(watch)).object.name == "p"
    with pytest.raises(Expired, match="watch Pod: too old resource version"):
        await anext(watch)
    await watch.close()


async def test_a_bookmark_need_not_fit_the_type(server: Server, client: Client) -> None:
    server.handler = lines(
        '{"type":"BOOKMARK","object":{"kind":"Strict","metadata":{"resourceVersion":"12"}}}',
        '{"type":"ADDED","object":{"kind":"Strict","metadata":{"resourceVersion":"13"},"spec":{"size":"x"}}}',
    )
    async with client.watch(Strict, bookmarks=True) as watch:
        event: WatchEvent[Any] = await anext(watch)
        assert (event.type, event.object.kind, watch.resource_version) == ("BOOKMARK", "Strict", "12")
        with pytest.raises(UnexpectedAnswer, match=r"watch Strict: what the server sent does not fit the type: .*size"):
            await anext(watch)


async def test_a_watch_that_is_closed_is_over(server: Server, client: Client) -> None:
    server.handler = lines('{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p"}}}')
    watch = client.watch(core.Pod)
    await watch.close()
    assert [event async for event in watch] == []
    assert server.requests == []


async def test_a_stream_that_is_no_watch(server: Server, client: Client) -> None:
    server.handler = lines("<html>")
    with pytest.raises(UnexpectedAnswer, match="watch Pod: not an event: JSON is malformed"):
        await anext(client.watch(core.Pod))


async def test_waiting_for_an_event_can_be_given_up_and_resumed(server: Server, client: Client) -> None:
    """That is how a reader notices a server that has gone silent."""
    more = asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        await more.wait()
        await stream.write(b'{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p"}}}\n')
        return stream

    server.handler = slow
    async with client.watch(core.Pod) as watch:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(watch)
        more.set()
        assert (await anext(watch)).object.name == "p"


async def test_pages_go_on_when_their_moment_is_forgotten(server: Server, client: Client) -> None:
    expired = {
        "kind": "Status",
        "status": "Failure",
        "reason": "Expired",
        "code": 410,
        "metadata": {"continue": "later"},
    }
    server.answers(
        answer({"metadata": {"continue": "one"}, "items": [POD]}),
        answer(expired, status=410),
        answer({"metadata": {}, "items": [POD]}),
    )
    assert [each.name async for each in client.iterate(core.Pod, page_size=1)] == ["p", "p"]
    tokens = [request.query.get("continue") for request in server.requests]
    assert tokens == [None, "one", "later"]


async def test_logs_are_lines(server: Server, client: Client) -> None:
    server.handler = lines("one", "", "two")
    wanted = client.log("p", "n", container="c", follow=True, tail_lines=0)
    assert [line async for line in wanted] == ["one", "", "two"]
    assert server.requests[0].path_qs == "/api/v1/namespaces/n/pods/p/log?container=c&follow=true&tailLines=0"


async def test_an_answer_that_is_no_json(server: Server, client: Client) -> None:
    server.handler = lines("<html>captive portal</html>")
    with pytest.raises(UnexpectedAnswer, match="get Pod n/p: what the server sent does not fit the type: JSON is"):
        await client.get(core.Pod, "p", "n")


async def test_a_part_of_another_kind_is_not_taken_for_the_object(server: Server, client: Client) -> None:
    server.handler = answer({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "p"}})
    with pytest.raises(UnexpectedAnswer, match="a Scale came where a Pod was expected"):
        await client.get(core.Pod, "p", "n", subresource="scale")


async def test_a_missing_object_and_a_missing_kind_are_told_apart(server: Server, client: Client) -> None:
    details = {"name": "p", "kind": "pods"}
    missing = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "details": details}
    server.handler = answer(missing, status=404)
    assert await client.find(core.Pod, "p", "n") is None
    server.handler = lines("404 page not found")

    async def nothing(request: web.Request) -> web.StreamResponse:
        return web.Response(status=404, text="404 page not found")

    server.handler = nothing
    with pytest.raises(NoKindMatch, match=r"does not serve Strict \(client-unit.example.org/v1\); is its Custom"):
        await client.find(Strict, "x", "n")
    with pytest.raises(NoKindMatch, match=r"does not serve scale of Strict .*; does the kind have this subresource\?"):
        await client.get_scale(Strict, "x", "n")
    with pytest.raises(NotFound, match="GET /nowhere: 404 page not found"):
        await client.request("GET", "/nowhere")


async def test_an_error_of_go_is_taken_for_the_status_in_it(server: Server, client: Client) -> None:
    """The simulated clusters of Cluster API answer so."""
    details = {"name": "/n", "kind": "nodes"}
    told = {
        "status": "Failure",
        "message": 'nodes "/n" not found',
        "reason": "NotFound",
        "details": details,
        "code": 404,
    }
    server.handler = answer({"ErrStatus": {"metadata": {}, **told}}, status=404)
    assert await client.find(core.Node, "n") is None
    await client.delete(core.Node, "n")
    with pytest.raises(NotFound, match='get Node n: nodes "/n" not found'):
        await client.get(core.Node, "n")


async def test_a_page_that_is_not_found_is_no_missing_object(server: Server, client: Client) -> None:
    """Behind a proxy, or at a wrong address: nothing there may be taken for gone."""

    async def nothing(request: web.Request) -> web.StreamResponse:
        return web.Response(status=404, text="<html>404 Not Found</html>", content_type="text/html")

    server.handler = nothing
    with pytest.raises(NoKindMatch, match=r"does not serve Node \(v1\); is this the address of a Kube"):
        await client.find(core.Node, "n")
    with pytest.raises(NoKindMatch):
        await client.delete(core.Node, "n")


async def test_where_nobody_can_be_evicted_the_pod_is_not_found(server: Server, client: Client) -> None:
    """As client-go has it: not every server knows evictions, and a drain goes on."""

    async def nothing(request: web.Request) -> web.StreamResponse:
        return web.Response(status=404, text="404: Page Not Found")

    server.handler = nothing
    with pytest.raises(NotFound, match="evict Pod n/p: "):
        await client.evict("p", "n")


def legacy(request: web.Request) -> Any:
    resources = [
        {
            "name": "things",
            "kind": "Thing",
            "namespaced": True,
            "singularName": "thing",
            "shortNames": ["th"],
            "verbs": ["get"],
        },
        {"name": "things/status", "kind": "Thing", "namespaced": True, "verbs": ["get"]},
    ]
    return {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/api/v1": {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list"]}]},
        "/apis": {"groups": [{"name": "example.org", "versions": [{"version": "v1"}]}]},
        "/apis/example.org/v1": {"resources": resources},
    }[request.path]


def aggregated(request: web.Request) -> Any:
    thing = {
        "resource": "things",
        "responseKind": {"group": "", "version": "", "kind": "Thing"},
        "scope": "Namespaced",
        "singularResource": "thing",
        "shortNames": ["th"],
        "verbs": ["get"],
        "subresources": [{"subresource": "status", "verbs": ["get"]}],
    }
    pods = {
        "resource": "pods",
        "responseKind": {"kind": "Pod"},
        "scope": "Namespaced",
        "singularResource": "pod",
        "verbs": ["list"],
    }
    core_group = [{"metadata": {}, "versions": [{"version": "v1", "resources": [pods]}]}]
    groups = [{"metadata": {"name": "example.org"}, "versions": [{"version": "v1", "resources": [thing]}]}]
    return {"items": core_group if request.path == "/api" else groups}


async def test_discovery_is_the_same_from_old_and_new_servers(server: Server, client: Client) -> None:
    async def old(request: web.Request) -> web.StreamResponse:
        return web.json_response(legacy(request))

    async def new(request: web.Request) -> web.StreamResponse:
        assert request.headers["accept"].startswith("application/json;g=apidiscovery.k8s.io;v=v2;")
        kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        return web.Response(body=encode(aggregated(request)), headers={"Content-Type": kind})

    server.handler = old
    before = await client.discovery.resources()
    server.handler = new
    assert before == await client.discovery.resources()
    thing = before[1]
    assert (thing.gvk, thing.plural, thing.short_names, thing.subresources) == (THING, "things", ("th",), ("status",))


async def test_a_kind_is_looked_up_once_unless_it_is_missing(server: Server, client: Client) -> None:
    async def old(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/x"):
            return web.json_response({"kind": "Thing", "metadata": {"name": "x"}})
        return web.json_response(legacy(request))

    server.handler = old
    for _ in range(2):
        assert (await client.get(THING, "x", "n"))["metadata"]["name"] == "x"
    assert [request.path for request in server.requests] == [
        "/apis/example.org/v1",
        "/apis/example.org/v1/namespaces/n/things/x",
        "/apis/example.org/v1/namespaces/n/things/x",
    ]
    server.requests.clear()
    other = THING._replace(kind="Other")
    for _ in range(2):
        with pytest.raises(NoKindMatch, match=r"does not serve Other \(example.org/v1\)"):
            await client.get(other, "x", "n")
    assert [request.path for request in server.requests] == ["/apis/example.org/v1"] * 2


async def test_closing_ends_what_is_under_way(server: Server, client: Client) -> None:
    arrived, ended = asyncio.Event(), asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        arrived.set()
        await ended.wait()
        return web.Response()

    server.handler = hang
    waiting = asyncio.create_task(client.create(pod()))
    await arrived.wait()
    await client.close()
    with pytest.raises(ConnectionFailed, match="this client was closed"):
        await waiting
    ended.set()
