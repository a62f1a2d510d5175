"""Values whose JSON form is not that of their message: times, quantities, raw JSON and a few unions.

Each is a small message of its own, decoded like any other and then turned into what Go's JSON encoder would write.
Their fields are listed by hand, since their Go types do not show them; so are those of the envelope around a body.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from kapstan.apiserver.protobuf.wire import ProtobufError
from kapstan.machinery.quantity import Quantity

__all__ = ("CUSTOM", "ENVELOPE", "Finish", "items", "number")

Finish = Callable[[dict[str, Any]], Any]
"""The decoded fields of a message → its JSON value. Without fields: the value of one that was not sent."""

ENVELOPE = "k8s.io/apimachinery/pkg/runtime.Unknown"

_META = "k8s.io/apimachinery/pkg/apis/meta/v1."
_APIEXTENSIONS = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1."
_SCHEMA = f"{_APIEXTENSIONS}JSONSchemaProps"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_TIME = -62_135_596_800
"""Seconds of Go's zero time, the first of January of the year 1, which JSON writes as null."""

Fields = tuple[tuple[int, str, str], ...]


def number(value: float) -> int | float:
    """A float as Go's JSON writes it: without a fraction where it has none."""
    if not math.isfinite(value):
        raise ProtobufError(f"{value} is no number that JSON can hold")
    return int(value) if value == int(value) and abs(value) < 1e21 else value


def items(sent: Mapping[str, Any]) -> Any:
    """A named list, such as `ExtraValue`: a message on the wire, a list in JSON."""
    return sent.get("items") or []


def _time(sent: Mapping[str, Any]) -> str | None:
    return _moment(sent, 0, "seconds") if sent else None


def _micro_time(sent: Mapping[str, Any]) -> str | None:
    return _moment(sent, sent["nanos"] // 1000, "microseconds") if sent else None


def _moment(sent: Mapping[str, Any], microseconds: int, precision: str) -> str | None:
    seconds: int = sent["seconds"]
    if seconds == _ZERO_TIME and not microseconds:
        return None
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=microseconds)
    except OverflowError:
        raise ProtobufError(f"{seconds} seconds from 1970 are outside the years 1 to 9999") from None
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def _quantity(sent: Mapping[str, Any]) -> str:
    return _canonical(sent["string"]) if sent else "0"


@functools.lru_cache(maxsize=1024)
def _canonical(text: str) -> str:
    try:
        return Quantity(text).canonical()
    except ValueError as error:
        raise ProtobufError(str(error)) from None


def _int_or_string(sent: Mapping[str, Any]) -> int | str:
    kind = sent.get("type", 0)
    if kind == 0:
        return int(sent.get("intVal", 0))
    if kind == 1:
        return str(sent.get("strVal", ""))
    raise ProtobufError(f"type {kind} is neither that of an integer (0) nor that of a string (1)")


def _raw(sent: Mapping[str, Any]) -> Any:
    """JSON within the message."""
    raw = sent.get("raw")
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtobufError(f"does not hold JSON: {error}") from None


def _schema_or_bool(sent: Mapping[str, Any]) -> Any:
    schema = sent.get("schema")
    return schema if schema is not None else bool(sent.get("allows"))


def _schema_or_array(sent: Mapping[str, Any]) -> Any:
    return sent.get("jSONSchemas") or sent.get("schema")


def _schema_or_strings(sent: Mapping[str, Any]) -> Any:
    return sent.get("property") or sent.get("schema")


_TIMESTAMP: Fields = ((1, "seconds", "int64"), (2, "nanos", "int32"))

CUSTOM: dict[str, tuple[Fields, Finish | None]] = {
    ENVELOPE: (
        (
            (1, "", ENVELOPE + "TypeMeta"),
            (2, "raw", "*raw,empty"),
            (3, "contentEncoding", "*string,empty"),
            (4, "contentType", "*string,empty"),
        ),
        None,
    ),
    ENVELOPE + "TypeMeta": (((1, "apiVersion", "*string,empty"), (2, "kind", "*string,empty")), None),
    _META + "Time": (_TIMESTAMP, _time),
    _META + "MicroTime": (_TIMESTAMP, _micro_time),
    _META + "FieldsV1": (((1, "raw", "*raw,empty"),), _raw),
    "k8s.io/apimachinery/pkg/runtime.RawExtension": (((1, "raw", "*raw,empty"),), _raw),
    _APIEXTENSIONS + "JSON": (((1, "raw", "*raw,empty"),), _raw),
    "k8s.io/apimachinery/pkg/api/resource.Quantity": (((1, "string", "*string,empty"),), _quantity),
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": (
        ((1, "type", "*int64,empty"), (2, "intVal", "*int32,empty"), (3, "strVal", "*string,empty")),
        _int_or_string,
    ),
    _APIEXTENSIONS + "JSONSchemaPropsOrBool": (
        ((1, "allows", "*bool,empty"), (2, "schema", f"*{_SCHEMA},empty")),
        _schema_or_bool,
    ),
    _APIEXTENSIONS + "JSONSchemaPropsOrArray": (
        ((1, "schema", f"*{_SCHEMA},empty"), (2, "jSONSchemas", f"[]{_SCHEMA},empty")),
        _schema_or_array,
    ),
    _APIEXTENSIONS + "JSONSchemaPropsOrStringArray": (
        ((1, "schema", f"*{_SCHEMA},empty"), (2, "property", "[]string,empty")),
        _schema_or_strings,
    ),
}
