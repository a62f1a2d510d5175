"""The core group's kinds, pods, services and claims aside."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence

from kapstan.apiserver.strategy.validation.addresses import cidr, ip_address, parse_cidr
from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    complaints,
    dns_label,
    dns_subdomain,
    immutable,
    label_name,
    one_of,
    port_number,
    struct,
)
from kapstan.apiserver.strategy.validation.resources import quantity_value
from kapstan.apiserver.strategy.validation.scheduling import EFFECTS
from kapstan.apiserver.strategy.validation.services import endpoint_ip
from kapstan.machinery.names import config_map_key_errors, label_value_errors, qualified_name_errors
from kapstan.machinery.validation import ErrorType, FieldError, Path

__all__ = (
    "config_map",
    "config_map_update",
    "endpoints",
    "endpoints_update",
    "namespace",
    "namespace_finalize",
    "namespace_status",
    "node",
    "node_status",
    "node_update",
    "secret",
    "secret_update",
)

_MAX_DATA = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_ACCOUNT_NAME = "kubernetes.io/service-account.name"
_DATA = Path("data")


def config_map(obj: Object) -> Rules:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    for key in data:
        at = _DATA.key(key)
        yield from complaints(key, at, config_map_key_errors)
        if key in binary:
            yield FieldError.invalid(at, key, "duplicate of key present in binaryData")
    for key in binary:
        yield from complaints(key, Path("binaryData").key(key), config_map_key_errors)
    if sum(len(value.encode()) for value in data.values()) + sum(map(_decoded_size, binary.values())) > _MAX_DATA:
        yield FieldError.too_long("[]", _MAX_DATA)


def config_map_update(obj: Object, old: Object) -> Rules:
    if old.get("immutable"):
        yield from _frozen(obj, old, "data", "binaryData")
    yield from config_map(obj)


def _frozen(obj: Object, old: Object, *fields: str) -> Rules:
    if not obj.get("immutable"):
        yield FieldError.forbidden(Path("immutable"), _FROZEN)
    for field in fields:
        if (obj.get(field) or {}) != (old.get(field) or {}):
            yield FieldError.forbidden(Path(field), _FROZEN)


def _decoded_size(text: str) -> int:
    """How many bytes base64 stands for."""
    return len(text) // 4 * 3 - text.count("=", -2) if text else 0


def secret(obj: Object) -> Rules:
    data: Mapping[str, str] = obj.get("data") or {}
    for key in data:
        yield from complaints(key, _DATA.key(key), config_map_key_errors)
    if sum(map(_decoded_size, data.values())) > _MAX_DATA:
        yield FieldError.too_long(_DATA, _MAX_DATA)
    yield from _secret_type(obj, data)


def _secret_type(obj: Object, data: Mapping[str, str]) -> Rules:
    kind = obj.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        if not (obj["metadata"].get("annotations") or {}).get(_ACCOUNT_NAME):
            yield FieldError.required(Path("metadata", "annotations").key(_ACCOUNT_NAME))
    elif kind == "kubernetes.io/dockercfg":
        yield from _json_secret(data, ".dockercfg")
    elif kind == "kubernetes.io/dockerconfigjson":
        yield from _json_secret(data, ".dockerconfigjson")
    elif kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            yield FieldError.required(_DATA.key("username"))
            yield FieldError.required(_DATA.key("password"))
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            yield FieldError.required(_DATA.key("ssh-privatekey"))
    elif kind == "kubernetes.io/tls":
        for key in ("tls.crt", "tls.key"):
            if key not in data:
                yield FieldError.required(_DATA.key(key))


def _json_secret(data: Mapping[str, str], key: str) -> Rules:
    if key not in data:
        yield FieldError.required(_DATA.key(key))
        return
    text = base64.b64decode(data[key])
    if why := _go_json_error(text):
        yield FieldError.invalid(_DATA.key(key), "<secret contents redacted>", why)


def _go_json_error(text: bytes) -> str:
    """What Go's decoder says of a text that should be a JSON object."""
    try:
        found = json.loads(text)
    except ValueError as error:
        position = getattr(error, "pos", 0)
        if position >= len(text):
            return "unexpected end of JSON input"
        char = _go_character(text[position:].decode(errors="replace")[:1])
        return f"invalid character {char} looking for beginning of value"
    if found is None or isinstance(found, dict):
        return ""
    kinds = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}
    return f"json: cannot unmarshal {kinds[type(found)]} into Go value of type map[string]interface {{}}"


def _go_character(char: str) -> str:
    return {"'": "'\\''", '"': "'\"'"}.get(char, f"'{char}'")


def secret_update(obj: Object, old: Object) -> Rules:
    yield from immutable(obj.get("type", ""), old.get("type", ""), Path("type"))
    if old.get("immutable"):
        yield from _frozen(obj, old, "data")
    yield from secret(obj)


# Namespaces -----------------------------------------------------------------------------------------------------------


def namespace(obj: Object) -> Rules:
    for finalizer in obj["spec"].get("finalizers") or ():
        yield from _finalizer(finalizer, Path("spec", "finalizers"))


def _finalizer(name: str, path: Path) -> Rules:
    yield from complaints(name, path, qualified_name_errors)
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        detail = "name is neither a standard finalizer name nor is it fully qualified"
        yield FieldError.invalid(path, name, detail)


def namespace_status(obj: Object, old: Object) -> Rules:
    phase = (obj.get("status") or {}).get("phase", "")
    path = Path("status", "Phase")
    if obj["metadata"].get("deletionTimestamp"):
        if phase != "Terminating":
            detail = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            yield FieldError.invalid(path, phase, detail)
    elif phase != "Active":
        yield FieldError.invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty")


def namespace_finalize(obj: Object, old: Object) -> Rules:
    for position, finalizer in enumerate(obj["spec"].get("finalizers") or ()):
        yield from _finalizer(finalizer, Path("spec", "finalizers").index(position))


# Nodes ----------------------------------------------------------------------------------------------------------------


def node(obj: Object) -> Rules:
    yield from _taints(obj["spec"].get("taints") or (), Path("metadata", "taints"))
    yield from _node_resources(obj)
    ranges, path = obj["spec"].get("podCIDRs") or [], Path("spec", "podCIDRs")
    for position, value in enumerate(ranges):
        yield from cidr(value, path.index(position))
    versions = {found.version for found in map(parse_cidr, ranges) if found is not None}
    if len(ranges) > 1 and (len(versions) != 2 or len(ranges) > 2):
        yield FieldError.invalid(path, ranges, "may specify no more than one CIDR for each IP family")


def _taints(taints: Sequence[Object], path: Path) -> Rules:
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        at, key, effect = path.index(position), taint["key"], taint.get("effect", "")
        yield from label_name(key, at.child("key"))
        if errors := label_value_errors(taint.get("value", "")):
            yield FieldError.invalid(at.child("value"), taint.get("value", ""), ";".join(errors))
        yield from one_of(effect, at.child("effect"), EFFECTS)
        if (key, effect) in seen:
            shown = struct(Key=key, Value=taint.get("value", ""), Effect=effect, TimeAdded=taint.get("timeAdded"))
            detail = "taints must be unique by key and effect pair"
            yield FieldError(ErrorType.DUPLICATE, at, shown, detail)
        seen.add((key, effect))


def _node_resources(obj: Object) -> Rules:
    for field in ("capacity", "allocatable"):
        for name, amount in ((obj.get("status") or {}).get(field) or {}).items():
            yield from quantity_value(name, amount, Path("status", field, name))


def node_update(obj: Object, old: Object) -> Rules:
    yield from node(obj)
    yield from node_status(obj, old)


def node_status(obj: Object, old: Object) -> Rules:
    yield from _node_resources(obj)
    seen: list[Object] = []
    for position, address in enumerate((obj.get("status") or {}).get("addresses") or ()):
        if address in seen:
            shown = struct(Type=address.get("type", ""), Address=address.get("address", ""))
            yield FieldError.duplicate(Path("status", "addresses").index(position), shown)
        seen.append(address)
    spec, before = obj["spec"], old["spec"]
    if before.get("podCIDRs") and before["podCIDRs"] != spec.get("podCIDRs"):
        detail = 'node updates may not change podCIDR except from "" to valid'
        yield FieldError.forbidden(Path("spec", "podCIDRs"), detail)
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        detail = 'node updates may not change providerID except from "" to valid'
        yield FieldError.forbidden(Path("spec", "providerID"), detail)
    yield from _taints(spec.get("taints") or (), Path("metadata", "taints"))


# Endpoints ------------------------------------------------------------------------------------------------------------


def endpoints(obj: Object) -> Rules:
    for position, subset in enumerate(obj.get("subsets") or ()):
        at = Path("subsets").index(position)
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield FieldError.required(at, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for index, address in enumerate(subset.get(field) or ()):
                yield from _endpoint_address(address, at.child(field).index(index))
        ports = subset.get("ports") or ()
        for index, one in enumerate(ports):
            yield from _endpoint_port(one, len(ports) > 1, at.child("ports").index(index))


def _endpoint_address(address: Object, path: Path) -> Rules:
    yield from ip_address(address["ip"], path.child("ip"))
    if address.get("hostname"):
        yield from dns_label(address["hostname"], path.child("hostname"))
    if address.get("nodeName") is not None:
        yield from dns_subdomain(address["nodeName"], path.child("nodeName"))
    yield from endpoint_ip(address["ip"], path.child("ip"))


def _endpoint_port(one: Object, needs_name: bool, path: Path) -> Rules:
    if one.get("name"):
        yield from dns_label(one["name"], path.child("name"))
    elif needs_name:
        yield FieldError.required(path.child("name"))
    yield from port_number(one["port"], path.child("port"))
    yield from one_of(one.get("protocol"), path.child("protocol"), ("SCTP", "TCP", "UDP"))
    if one.get("appProtocol") is not None:
        yield from label_name(one["appProtocol"], path.child("appProtocol"))


def endpoints_update(obj: Object, old: Object) -> Rules:
    if obj.get("subsets") != old.get("subsets"):
        yield from endpoints(obj)
