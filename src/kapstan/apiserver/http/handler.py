"""The handler of a logical cluster: who asks, may they, and what is the answer. Errors become Status objects here."""

from __future__ import annotations

import asyncio
import logging

from kapstan.apiserver import builtin
from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.discovery.paths import serve_path
from kapstan.apiserver.http.deadline import requested_seconds
from kapstan.apiserver.http.message import HTTPRequest, Response, WatchResponse, text_response
from kapstan.apiserver.http.negotiation import refusal
from kapstan.apiserver.http.resources import serve_resource
from kapstan.apiserver.http.routing import Route, route
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.errors import internal, not_found
from kapstan.apiserver.request import UserInfo
from kapstan.apiserver.storage.interface import StorageError
from kapstan.machinery.errors import APIError, BadRequest, MethodNotAllowed, NotFound, Timeout
from kapstan.machinery.gvk import GroupVersionResource
from kapstan.machinery.meta import StatusDetails

__all__ = ("handle",)

logger = logging.getLogger(__name__)

_TIMEOUT = 34.0  # seconds for anything that is not a list, a watch or the deletion of a collection
_LONG = frozenset(("list", "watch", "deletecollection"))
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))


async def handle(cluster: LogicalCluster, http: HTTPRequest) -> Response | WatchResponse:
    """Answer any request; whatever goes wrong, there is an answer."""
    warnings: list[str] = []
    try:
        where = route(http)
        seconds = requested_seconds(http, where)
        user = cluster.authenticate(http, warnings.append)
        user = cluster.authorize(where.attributes(user, http), http)
        answer = await _serve(cluster, http, where, user, seconds)
    except APIError as error:
        answer = refusal(http, error)
    except StorageError as error:
        logger.error("%s %s: %s", http.method, http.path, error)  # noqa: TRY400 - the text says it all
        answer = refusal(http, internal(str(error)))
    except RecursionError:
        answer = refusal(http, BadRequest("the object is nested too deeply"))
    except TimeoutError:
        answer = refusal(http, _timed_out())
    except Exception:
        logger.exception("%s %s failed", http.method, http.path)
        answer = refusal(http, internal("the server could not answer; its log says why"))
    if warnings:
        answer.warnings = [*warnings, *answer.warnings]
    return answer


async def _serve(
    cluster: LogicalCluster, http: HTTPRequest, where: Route, user: UserInfo, seconds: float | None
) -> Response | WatchResponse:
    """The answer; `seconds` is how long the client waits for it at most."""
    if not where.resource:
        return await serve_path(cluster, http)
    kind = cluster.kinds.resource(GroupVersionResource(where.group, where.version, where.resource))
    if kind is None or (where.subresource and where.subresource not in kind.subresources):
        if kind is not None and kind.custom:
            raise not_found(kind.gvr.group_resource, where.name)
        return _missing(where)
    if kind.custom and kind.namespaced and not where.namespace and where.verb not in ("list", "watch"):
        return _page_not_found()
    _check_scope(kind, where)
    limit = seconds if where.verb in _LONG else min(seconds or _TIMEOUT, _TIMEOUT)
    if limit is None:
        return await serve_resource(cluster, http, where, user, kind)
    async with asyncio.timeout(limit):
        return await serve_resource(cluster, http, where, user, kind)


def _check_scope(kind: ServedKind, where: Route) -> None:
    """Namespaced objects are below a namespace; only lists and watches go across all of them."""
    misplaced = kind.namespaced and not where.namespace and (where.name_in_path or where.verb not in _LONG)
    if where.name_in_path:
        allowed = where.verb != "create" or bool(where.subresource) or kind.custom
    else:
        allowed = where.verb in ("create", *_LONG)
    if not allowed or (misplaced and where.verb not in ("list", "watch")):
        raise _generic(MethodNotAllowed, "the server does not allow this method on the requested resource")
    if misplaced or (not kind.namespaced and where.namespace and where.resource != "namespaces"):
        raise _generic(NotFound, "the server could not find the requested resource")


def _missing(where: Route) -> Response:
    """A built-in group answers with a Status, anything else as any web server does."""
    if any(found.group == where.group for found in builtin.group_versions()):
        raise _generic(NotFound, "the server could not find the requested resource")
    return _page_not_found()


def _page_not_found() -> Response:
    return text_response(404, "404 page not found\n", {"X-Content-Type-Options": "nosniff"})


def _generic(error: type[APIError], message: str) -> APIError:
    return error(message, details=StatusDetails())


def _timed_out() -> APIError:
    message = "Timeout: request did not complete within the allotted timeout"
    return Timeout(message, details=StatusDetails())
