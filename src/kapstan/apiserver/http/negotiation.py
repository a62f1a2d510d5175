"""Negotiation: in which form an answer goes out, from the Accept header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from kapstan.apiserver.http.message import HTTPRequest, Response, error_response
from kapstan.apiserver.http.options import text
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.accepting import go_type
from kapstan.apiserver.registry.representation import AsMetadata, AsObject, AsTable, Representation
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.errors import APIError, BadRequest, NotAcceptable
from kapstan.machinery.golang import quote
from kapstan.machinery.meta import StatusDetails

__all__ = ("Accepted", "accept_clauses", "negotiate", "refusal", "rendered")

Encoding = Literal["json", "yaml"]

_META_VERSIONS = {"v1": "meta.k8s.io/v1", "v1beta1": "meta.k8s.io/v1beta1"}
_OBJECT = AsObject()
_BROWSERS = ("curl", "Wget", "Mozilla/5.0")
_ENCODINGS: tuple[Encoding, ...] = ("json", "yaml")


class Clause(msgspec.Struct, frozen=True):
    """One media type of an Accept header, with its parameters."""

    type: str
    subtype: str
    parameters: dict[str, str]


class Accepted(msgspec.Struct, frozen=True):
    """What was agreed on."""

    representation: Representation = _OBJECT
    encoding: Encoding = "json"
    pretty: bool = False

    @property
    def content_type(self) -> str:
        return f"application/{self.encoding}"


_PLAIN = Accepted()
_PRETTY = Accepted(pretty=True)


def negotiate(request: HTTPRequest, kind: ServedKind | None, *, is_list: bool = False, watch: bool = False) -> Accepted:
    """The first form that the client likes and the endpoint has; NotAcceptable if there is none."""
    header = request.header("Accept")
    pretty = _wants_pretty(request)
    if not header or header == "application/json" or header == "*/*":
        return _PRETTY if pretty else _PLAIN
    readable = False
    for clause in accept_clauses(header):
        for encoding in _ENCODINGS:
            if not _matches(clause, encoding) or (watch and encoding == "yaml"):
                continue
            readable = True
            representation = _representation(request, clause.parameters, kind, is_list=is_list, watch=watch)
            if representation is not None:
                return Accepted(representation, encoding, pretty or clause.parameters.get("pretty") == "1")
    supported = _supported(watch)
    if not readable and (kind is None or not kind.custom) and not watch:
        message = f"406: Not Acceptable\n\nAvailable representations: {supported}"
        raise NotAcceptable(message, details=StatusDetails())
    raise NotAcceptable(f"only the following media types are accepted: {supported}")


def _supported(watch: bool) -> str:
    types = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
    if watch:
        types = [f"{type};stream=watch" for type in types if type != "application/yaml"]
    return ", ".join(types)


def _matches(clause: Clause, encoding: Encoding) -> bool:
    return (clause.type, clause.subtype) in (("application", encoding), ("application", "*"), ("*", "*"))


def _representation(
    request: HTTPRequest, parameters: dict[str, str], kind: ServedKind | None, *, is_list: bool, watch: bool
) -> Representation | None:
    """What `as`, `g` and `v` ask for; None if that is not to be had here."""
    if parameters.get("stream", "watch") not in ("", "watch"):
        return None
    wanted = parameters.get("as", "")
    if not wanted and not parameters.get("g") and not parameters.get("v"):
        return _OBJECT
    api_version = _META_VERSIONS.get(parameters.get("v", ""))
    if api_version is None or parameters.get("g") != "meta.k8s.io":
        return None
    if wanted == "Table":
        has_tables = kind is not None and kind.handler is None
        return AsTable(api_version, _include_object(request)) if has_tables else None  # type: ignore[arg-type]
    if wanted == "PartialObjectMetadata" and is_list and not watch:
        found = f"(*{go_type(kind, list=True)})" if kind is not None else ""
        raise NotAcceptable(f"you requested PartialObjectMetadata, but the requested object is a list {found}")
    if wanted == "PartialObjectMetadataList" and not is_list:
        found = f"(*{go_type(kind)})" if kind is not None else ""
        raise NotAcceptable(f"you requested PartialObjectMetadataList, but the requested object is not a list {found}")
    if wanted in ("PartialObjectMetadata", "PartialObjectMetadataList"):
        return AsMetadata(api_version)
    return None


def _include_object(request: HTTPRequest) -> str:
    value = text(request.query, "includeObject")
    if value not in ("", "None", "Metadata", "Object"):
        raise BadRequest(
            "Unable to convert to Table as requested: includeObject: Invalid value: "
            f"{quote(value)}: must be 'Metadata', 'Object', 'None', or empty"
        )
    return value or "Metadata"


def _wants_pretty(request: HTTPRequest) -> bool:
    if "pretty" in request.query_string:
        value = text(request.query, "pretty")
        if value:
            return value in ("1", "t", "T", "true", "TRUE", "True")
    return request.header("User-Agent").startswith(_BROWSERS)


@lru_cache(maxsize=256)
def accept_clauses(header: str) -> tuple[Clause, ...]:
    """The clauses of an Accept header, best first."""
    clauses = sorted(_parse(header), key=lambda found: -found[0])
    return tuple(clause for _, clause in clauses)


def _parse(header: str) -> Iterator[tuple[float, Clause]]:
    for part in header.split(","):
        media_type, *parameters = part.split(";")
        type, slash, subtype = media_type.strip().partition("/")
        if not slash and type != "*":
            continue
        values = dict(_parameter(parameter) for parameter in parameters if "=" in parameter)
        try:
            quality = float(values.pop("q", "1"))
        except ValueError:
            quality = 1.0
        yield quality, Clause(type, subtype or "*", values)


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip().strip('"')


def rendered(value: bytes, accepted: Accepted) -> bytes:
    """JSON in the encoding that was agreed on."""
    if accepted.encoding == "yaml":
        return to_yaml(msgspec.json.decode(value)).encode()
    if accepted.pretty:
        return msgspec.json.format(value, indent=2) + b"\n"
    return value


def refusal(request: HTTPRequest, error: APIError, warnings: Sequence[str] = ()) -> Response:
    """A Status in the form that the client likes, as far as it can be told; JSON otherwise."""
    answer = error_response(error, warnings)
    try:
        accepted = negotiate(request, None)
    except APIError:
        return answer
    answer.body, answer.content_type = rendered(answer.body, accepted), accepted.content_type
    return answer
