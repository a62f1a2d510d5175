"""Routing: what a URL asks for, by Kubernetes' own rules, so that authorization sees what kube-apiserver's would."""

from __future__ import annotations

from typing import NamedTuple

from kapstan.apiserver.http.message import HTTPRequest
from kapstan.apiserver.http.options import flag
from kapstan.apiserver.request import Attributes, UserInfo
from kapstan.machinery import fields
from kapstan.machinery.names import path_segment_name_errors

__all__ = ("Route", "route")

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


class Route(NamedTuple):
    """A parsed path. Where `resource` is empty, it is a path such as `/healthz`."""

    path: str
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = ()  # what follows a subresource, as in `proxy`
    name_in_path: bool = True

    def attributes(self, user: UserInfo, request: HTTPRequest) -> Attributes:
        """What authorizers see."""
        selectors = self.verb in ("list", "watch", "deletecollection")
        return Attributes(
            user=user,
            verb=self.verb,
            group=self.group,
            version=self.version,
            resource=self.resource,
            subresource=self.subresource,
            namespace=self.namespace,
            name=self.name,
            path=self.path,
            field_selector=_first(request, "fieldSelector") if selectors else "",
            label_selector=_first(request, "labelSelector") if selectors else "",
        )


def route(request: HTTPRequest) -> Route:
    """Read a URL."""
    path = request.path
    parts = path.strip("/").split("/")
    if len(parts) < 3 or parts[0] not in ("api", "apis") or (parts[0] == "apis" and len(parts) < 4):
        return Route(path, request.method.lower())
    group = "" if parts[0] == "api" else parts[1]
    version, *parts = parts[1:] if not group else parts[2:]
    verb = _VERBS.get(request.method, "")
    if parts[0] == "watch" and len(parts) > 1:
        verb, parts = "watch", parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    resource = parts[0]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 else ""
    in_path = bool(name)
    if not name:
        verb, name = _collection_verb(request, verb)
    return Route(path, verb, group, version, resource, namespace, name, subresource, tuple(parts[3:]), in_path)


def _collection_verb(request: HTTPRequest, verb: str) -> tuple[str, str]:
    """Without a name, a get is a list or a watch, and a delete one of a collection."""
    if verb == "delete":
        return "deletecollection", ""
    if verb not in ("get", "watch"):
        return verb, ""
    if verb == "get":
        verb = "watch" if flag(request.query, "watch") else "list"
    selector = _first(request, "fieldSelector")
    return verb, _selected_name(selector) if selector else ""


def _selected_name(selector: str) -> str:
    """A selector for one name counts as that name."""
    try:
        name = fields.parse(selector).exact_match("metadata.name") or ""
    except ValueError:
        return ""
    return "" if path_segment_name_errors(name) else name


def _first(request: HTTPRequest, name: str) -> str:
    values = request.query.get(name)
    return values[0] if values else ""
