"""The front of a cluster: connections below, the handler above, headers and the access log in between."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable

from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.http.connection import Connection, Handle
from kapstan.apiserver.http.handler import handle
from kapstan.apiserver.http.message import HTTPRequest, Response, WatchResponse

__all__ = ("access_log", "answer_headers", "new_front", "new_handle")

access_log = logging.getLogger("kapstan.apiserver.access")


def new_front(cluster: LogicalCluster) -> Callable[[], Connection]:
    """Makes the protocol of each connection to a cluster."""
    serve = new_handle(cluster)
    return lambda: Connection(serve, answer_headers)


def new_handle(cluster: LogicalCluster) -> Handle:
    """Answers the requests to a cluster."""

    async def serve(request: HTTPRequest) -> Response | WatchResponse:
        if not access_log.isEnabledFor(logging.INFO):
            return await handle(cluster, request)
        started = time.perf_counter()
        answer = await handle(cluster, request)
        _log(request, answer, time.perf_counter() - started)
        return answer

    return serve


def answer_headers(request: HTTPRequest, answer: Response | WatchResponse) -> list[tuple[str, str]]:
    """The headers that every answer has, and its own."""
    headers = {"Audit-Id": str(uuid.uuid4()), "Cache-Control": "no-cache, private", "Content-Type": answer.content_type}
    if isinstance(answer, Response) and answer.headers:
        headers.update(answer.headers)
    found = list(headers.items())
    if answer.warnings:
        found += (("Warning", f"299 - {_quoted(text)}") for text in dict.fromkeys(answer.warnings))
    return found


def _quoted(text: str) -> str:
    """A warning's text as a header may carry it."""
    text = "".join(char if char.isprintable() else " " for char in text)
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _log(request: HTTPRequest, answer: Response | WatchResponse, seconds: float) -> None:
    query = f"?{request.query_string}" if request.query_string else ""
    if isinstance(answer, WatchResponse):
        status, size = 200, "watch"
    else:
        status, size = answer.status, str(len(answer.body))
    agent = request.header("User-Agent") or "-"
    access_log.info("%s %s%s %s %s %.1fms %s", request.method, request.path, query, status, size, seconds * 1000, agent)
