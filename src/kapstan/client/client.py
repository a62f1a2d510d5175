"""Client: reads and writes every kind of one API server.

    async with Client(Config.load()) as client:
        pod = await client.get(Pod, "web", "default")              # typed
        pod = await client.get(GVK("", "v1", "Pod"), "web", "default")   # a dictionary
        pod = await client.get(metadata_of(Pod), "web", "default")  # the metadata only

Reads are live. Field validation is the server's default, which is to accept unknown fields and warn; warnings are
logged, each once. Unless told otherwise, the field manager is the name of the program.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Self

from kapstan.client.config import Config
from kapstan.client.discovery import Discovery
from kapstan.client.interface import FieldValidation, Kind, Object
from kapstan.client.mapping import Mapping
from kapstan.client.options import WriteOptions, query, write_query
from kapstan.client.reader import LiveReader
from kapstan.client.retry import RetryPolicy
from kapstan.client.session import described
from kapstan.client.transport import Observer, Request, Transport, program_name
from kapstan.client.writer import LiveWriter, key_of
from kapstan.machinery.codec import decode, encode
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource

if TYPE_CHECKING:
    from kapstan.k8s.autoscaling_v1 import Scale

__all__ = ("Client",)

_PODS = Mapping(GroupVersionKind("", "v1", "Pod"), "pods", namespaced=True)


class Client(LiveReader, LiveWriter):
    """Everything that one can ask of an API server."""

    def __init__(
        self,
        config: Config | None = None,
        *,
        field_manager: str = "",
        observer: Observer | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        """Without a config, the one that `Config.load` finds. Nothing is sent before the first call.

        `observer` is called after each request with its method, host, status code and seconds.
        """
        transport = Transport(config or Config.load(), observer=observer, policy=retry)
        options = WriteOptions(field_manager=field_manager or program_name())
        super().__init__(transport, Discovery(transport), options=options)

    @property
    def config(self) -> Config:
        return self.transport.config

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections, those of views with other options too; what is under way fails."""
        await self.transport.close()

    def with_options(
        self,
        *,
        field_manager: str = "",
        dry_run: bool = False,
        namespace: str = "",
        field_validation: FieldValidation | None = None,
    ) -> Client:
        """The same client with other defaults. With `namespace` it reads and writes in that one only."""
        view = object.__new__(Client)
        options = WriteOptions(
            field_manager=field_manager or self.options.field_manager,
            dry_run=dry_run or self.options.dry_run,
            field_validation=field_validation or self.options.field_validation,
        )
        LiveReader.__init__(
            view, self.transport, self.discovery, options=options, namespace=namespace or self.namespace
        )
        return view

    async def request(
        self,
        method: str,
        path: str,
        *,
        parameters: dict[str, str | int | bool] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> bytes:
        """Any request at all: `await client.request("GET", "/version")`."""
        request = Request(
            method=method,
            path=path + query(**(parameters or {})),
            what=f"{method} {path}",
            body=body,
            content_type=content_type,
            accept=accept,
            idempotent=method in ("GET", "HEAD"),
        )
        return bytes((await self.transport.send(request)).body)

    async def get_scale(self, obj: Object | Kind[Any], name: str = "", namespace: str = "") -> Scale:
        """How many replicas an object shall have and has; any kind with a scale subresource."""
        return await self._scale("get", obj, name, namespace, Request(method="GET", path="", idempotent=True))

    async def scale(self, obj: Object | Kind[Any], name: str = "", namespace: str = "", *, replicas: int) -> Scale:
        """Set how many replicas an object shall have; any kind with a scale subresource."""
        request = Request(
            method="PATCH",
            path=write_query(self.options),
            body=encode({"spec": {"replicas": replicas}}),
            content_type="application/merge-patch+json",
            idempotent=True,
        )
        return await self._scale("patch", obj, name, namespace, request)

    async def evict(self, pod: str, namespace: str, *, grace_period: int | None = None, dry_run: bool = False) -> None:
        """Ask for a pod to be moved away; TooManyRequests while a disruption budget forbids it.

        NotFound also where the server knows no evictions, as client-go has it.
        """
        what = described("evict", "Pod", namespace or self.namespace, pod)
        namespace = self.scope(_PODS, namespace, what=what)
        eviction: dict[str, Any] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
            "deleteOptions": {"gracePeriodSeconds": grace_period} if grace_period is not None else {},
        }
        if dry_run or self.options.dry_run:
            eviction["deleteOptions"]["dryRun"] = ["All"]
        path = _PODS.object(namespace, pod, "eviction")
        # Not repeated: whoever drains a node wants to know that it has to wait, and goes on with the next pod.
        body = encode(eviction)
        await self.transport.send(Request(method="POST", path=path, what=what, body=body, retry=False))

    async def log(
        self,
        pod: str,
        namespace: str,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        tail_lines: int | None = None,
        since_seconds: int | None = None,
        timestamps: bool = False,
    ) -> AsyncIterator[str]:
        """The lines that a container has written; with `follow`, also those that it will write."""
        what = described("log", "Pod", namespace or self.namespace, pod)
        path = _PODS.object(self.scope(_PODS, namespace, what=what), pod, "log") + query(
            container=container,
            follow=follow,
            previous=previous,
            tailLines=tail_lines,
            sinceSeconds=since_seconds,
            timestamps=timestamps,
        )
        stream = await self.open(Request(method="GET", path=path, what=what, accept="*/*", idempotent=True), _PODS.gvk)
        try:
            while (line := await stream.line()) is not None:
                yield line.decode(errors="replace")
        finally:
            await stream.close()

    async def _scale(self, verb: str, obj: Object | Kind[Any], name: str, namespace: str, request: Request) -> Scale:
        from kapstan.k8s.autoscaling_v1 import Scale

        if isinstance(obj, dict | Resource):
            mapping = await self.mapping_of(obj)
            namespace, name = key_of(obj)
        else:
            mapping = await self.mapping(obj)
        request.what = described(verb, mapping.gvk.kind, namespace or self.namespace, name, "scale")
        path = mapping.object(self.scope(mapping, namespace, what=request.what), name, "scale")
        request.path = path + request.path
        answer = await self.send(request, mapping.gvk, "scale")
        scale = self.decoded(request.what, lambda body: decode(body, Scale), answer.body)
        scale.spec.replicas, scale.status.replicas = scale.spec.replicas or 0, scale.status.replicas or 0
        return scale
