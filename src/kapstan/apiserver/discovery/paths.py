"""Paths that are no resources: discovery, OpenAPI, version, health."""

from __future__ import annotations

import gzip
from typing import Any

import msgspec

from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.discovery.documents import Aggregated, discover
from kapstan.apiserver.discovery.health import HEALTH_PATHS, serve_health
from kapstan.apiserver.discovery.openapi import OpenAPI, openapi_of
from kapstan.apiserver.discovery.version import version_info
from kapstan.apiserver.http.message import JSON, HTTPRequest, Response, text_response
from kapstan.apiserver.http.negotiation import accept_clauses, negotiate, rendered
from kapstan.apiserver.registry.objects import encode
from kapstan.machinery.errors import MethodNotAllowed, NotAcceptable
from kapstan.machinery.gvk import GroupVersion
from kapstan.machinery.meta import StatusDetails

__all__ = ("serve_path",)

_AGGREGATED = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
_AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_FOREVER = "public, immutable"
_JSON_RANGES = (("application", "json"), ("application", "*"), ("*", "*"))
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PROTOBUF_OF_OLD = (
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"  # as clients ask, which is no media type
)
_PATHS = [
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    "/healthz",
    "/livez",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/readyz",
    "/version",
]


async def serve_path(cluster: LogicalCluster, request: HTTPRequest) -> Response:
    """Answer a request for anything but a resource."""
    parts = request.path.strip("/").split("/")
    extra = cluster.paths.get(request.path.rstrip("/"))
    if extra is not None:
        return extra(request)
    if request.method not in ("GET", "HEAD"):
        raise MethodNotAllowed(
            "the server does not allow this method on the requested resource", details=StatusDetails()
        )
    if parts[0] in HEALTH_PATHS:
        return serve_health(request, cluster.checks)
    if parts == ["version"]:
        return _indented(version_info(cluster.version))
    if parts[0] in ("api", "apis"):
        return _discovery(cluster, request, parts)
    if request.path == "/openapi/v2":
        return _swagger(request, openapi_of(cluster.kinds))
    if parts[:2] == ["openapi", "v3"]:
        return _openapi(request, openapi_of(cluster.kinds), "/".join(parts[2:]))
    if parts == [""]:
        return _indented({"paths": sorted([*_PATHS, *_group_paths(cluster)])})
    return _not_found()


def _discovery(cluster: LogicalCluster, request: HTTPRequest, parts: list[str]) -> Response:
    found = discover(cluster.kinds)
    if parts == ["api"] or parts == ["apis"]:
        core = parts == ["api"]
        if _wants_aggregated(request):
            return _aggregated(request, found.aggregated(core=core))
        return _json(request, _api_versions(cluster) if core else found.groups())
    if parts[0] == "api":
        document = found.resources(GroupVersion("", parts[1]))
    elif len(parts) == 2:
        document = found.group(parts[1])
    else:
        document = found.resources(GroupVersion(parts[1], parts[2]))
    return _json(request, document) if document is not None else _not_found()


def _wants_aggregated(request: HTTPRequest) -> bool:
    """Whether the first form that we have is the aggregated one."""
    for clause in accept_clauses(request.header("Accept")):
        if clause.type == "application" and clause.subtype in ("json", "*"):
            asked = {name: clause.parameters.get(name) for name in _AGGREGATED}
            if asked == _AGGREGATED:
                return True
            if not any(asked.values()):
                return False
    return False


def _aggregated(request: HTTPRequest, document: Aggregated) -> Response:
    headers = {"ETag": document.etag, "Vary": "Accept", "Cache-Control": "public"}
    if request.header("If-None-Match") == document.etag:
        return Response(304, b"", _AGGREGATED_TYPE, headers)
    return Response(200, document.body, _AGGREGATED_TYPE, headers)


def _api_versions(cluster: LogicalCluster) -> dict[str, Any]:
    address = [{"clientCIDR": "0.0.0.0/0", "serverAddress": cluster.address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": address}


def _openapi(request: HTTPRequest, documents: OpenAPI, path: str) -> Response:
    if not path:
        return Response(200, encode(documents.index()))
    current = documents.hash(path)
    if current is None:
        return _not_found()
    if not _takes_json(request):
        raise NotAcceptable("only the following media types are accepted: application/json")
    headers = {"ETag": f'"{current}"', "Vary": "Accept"}
    asked = request.query.get("hash")
    if asked:
        if asked[0] != current:
            return Response(301, b"", headers={"Location": documents.url(path)})
        headers["Cache-Control"] = _FOREVER
    if request.header("If-None-Match") == headers["ETag"]:
        return Response(304, b"", headers=headers)
    return _unpacked(request, documents.document(path), headers)


def _swagger(request: HTTPRequest, documents: OpenAPI) -> Response:
    """OpenAPI v2, as JSON or protobuf."""
    headers = {"Vary": "Accept-Encoding"}
    protobuf = _prefers_protobuf(request)
    if protobuf is None:
        return Response(406, b"", headers=headers)
    body, digest = documents.swagger()
    headers["ETag"] = f'"{digest}"'
    if request.header("If-None-Match") == headers["ETag"]:
        return Response(304, b"", headers=headers)
    if protobuf:
        return _unpacked(request, documents.swagger_protobuf(), headers, _PROTOBUF)
    return _unpacked(request, body, headers)


def _prefers_protobuf(request: HTTPRequest) -> bool | None:
    """Whether protobuf comes before JSON in what the client takes; None if it takes neither."""
    for clause in accept_clauses(request.header("Accept") or "*/*"):
        if (clause.type, clause.subtype) in _JSON_RANGES:
            return False
        if f"{clause.type}/{clause.subtype}" in (_PROTOBUF, _PROTOBUF_OF_OLD):
            return True
    return None


def _takes_json(request: HTTPRequest) -> bool:
    accept = request.header("Accept")
    return not accept or any((clause.type, clause.subtype) in _JSON_RANGES for clause in accept_clauses(accept))


def _unpacked(request: HTTPRequest, compressed: bytes, headers: dict[str, str], type: str = JSON) -> Response:
    """As it is kept, if the client can unpack it."""
    if "gzip" in request.header("Accept-Encoding"):
        return Response(200, compressed, type, {**headers, "Content-Encoding": "gzip"})
    return Response(200, gzip.decompress(compressed), type, headers)


def _group_paths(cluster: LogicalCluster) -> set[str]:
    versions = cluster.kinds.group_versions()
    return {found.path for found in versions} | {f"/apis/{found.group}" for found in versions if found.group}


def _json(request: HTTPRequest, document: dict[str, Any]) -> Response:
    accepted = negotiate(request, None)
    return Response(200, rendered(encode(document), accepted), accepted.content_type)


def _indented(document: dict[str, Any]) -> Response:
    """JSON for people, whatever the client accepts."""
    return Response(200, msgspec.json.format(encode(document), indent=2))


def _not_found() -> Response:
    return text_response(404, "404 page not found\n", {"X-Content-Type-Options": "nosniff"})
