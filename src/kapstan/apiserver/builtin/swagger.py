"""OpenAPI v2: one document of everything a server serves, made from what OpenAPI v3 documents are made of.

The older form knows no alternatives, no defaults beside references and no nulls. What it cannot say is left out, in the
way that clients of it rely on: kubectl refuses unknown fields of whatever names any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kapstan.apiserver.builtin import facts
from kapstan.apiserver.builtin.custom import custom_schemas

__all__ = ("custom_definitions", "definition", "path_item", "structural", "swagger")

Object = dict[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_PER_GROUP = (_META + "DeleteOptions", _META + "WatchEvent")
_GVKS = "x-kubernetes-group-version-kind"
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_STREAM = ";stream=watch"
_JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
_CARRIED = ("operationId", "tags", "x-kubernetes-action", _GVKS)


def swagger(paths: Mapping[str, Any], definitions: Mapping[str, Any], groups: Iterable[tuple[str, str]]) -> Object:
    """The document; `groups` are those in which options and watch events are registered."""
    parameters: dict[str, Any] = {}
    shared = {path: _shared(item, parameters) for path, item in sorted(paths.items())}
    every = {name: definition(source) for name, source in facts.definition_sources().items()} | dict(definitions)
    for name in _PER_GROUP:
        kind = name.removeprefix(_META)
        listed = sorted({("", "v1"), *groups})
        every[name] = {
            **every[name],
            _GVKS: [{"group": group, "kind": kind, "version": version} for group, version in listed],
        }
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": facts.kubernetes_version().lstrip("v").rpartition(".")[0]},
        "paths": shared,
        "definitions": dict(sorted(every.items())),
        "parameters": dict(sorted(parameters.items())),
        "securityDefinitions": {"BearerToken": _BEARER},
        "security": [{"BearerToken": []}],
    }


_BEARER = {"description": "Bearer token", "type": "apiKey", "name": "authorization", "in": "header"}


# Schemas --------------------------------------------------------------------------------------------------------------


def custom_definitions(
    group: str, version: str, kind: str, schema: Mapping[str, Any] | None, **more: Any
) -> dict[str, Object]:
    """The definitions of a custom kind and its list; one that takes anything says nothing of what it takes."""
    loose = schema is not None and bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    own = None if schema is None or loose else structural(schema)
    published = custom_schemas(group, version, kind, own, older=True, **more)
    return {name: definition(one) for name, one in published.items()}


def definition(schema: Mapping[str, Any]) -> Object:
    """A schema of a v3 document, as v2 says it: without defaults."""
    found: Object = {}
    for key, value in schema.items():
        match key:
            case "properties":
                found[key] = {name: definition(below) for name, below in value.items()}
            case "items" | "additionalProperties" if isinstance(value, Mapping):
                found[key] = definition(value)
            case "$ref":
                found[key] = _reference(value)
            case "allOf" if len(value) == 1 and "$ref" in value[0]:
                found["$ref"] = _reference(value[0]["$ref"])
            case "oneOf":
                found["type"] = "string"
            case "default":
                continue
            case _:
                found[key] = value
    return found


def _reference(reference: str) -> str:
    return reference.replace("#/components/schemas/", "#/definitions/")


def structural(schema: Mapping[str, Any]) -> Object:
    """A custom resource's own schema, before it is completed, without what kubectl could not cope with."""
    part = {key: value for key, value in schema.items() if key not in _JUNCTORS}
    loose = bool(part.get("x-kubernetes-preserve-unknown-fields"))
    nullable = part.pop("nullable", False)
    if nullable or loose:
        part.pop("items", None)
        part.pop("properties", None)
    if nullable or (part.get("type") == "array" and "items" not in part) or (loose and part.get("type") == "object"):
        part.pop("type", None)
    properties = part.get("properties") or {}
    if required := [name for name in part.get("required") or () if not (properties.get(name) or {}).get("nullable")]:
        part["required"] = required
    else:
        part.pop("required", None)
    return _below(part)


def _below(part: Object) -> Object:
    if "properties" in part:
        part["properties"] = {name: structural(schema) for name, schema in part["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(part.get(key), Mapping):
            if key == "additionalProperties" and part[key].get("nullable"):
                part.pop("required", None)
            part[key] = structural(part[key])
    return part


# Paths ----------------------------------------------------------------------------------------------------------------


def path_item(item: Mapping[str, Any], *, custom: bool = False) -> Object:
    """The operations of one path of a v3 document, as v2 says them. Custom kinds have no protobuf."""
    found: Object = {method: _operation(one, custom) for method, one in item.items() if method != "parameters"}
    if parameters := item.get("parameters"):
        found["parameters"] = [_parameter(one) for one in parameters]
    return found


def _operation(operation: Mapping[str, Any], custom: bool) -> Object:
    body = operation.get("requestBody")
    produced = list(next(iter(operation["responses"].values())).get("content", ()))
    if not custom:
        produced = _media(produced)
    parameters = [_parameter(one) for one in operation.get("parameters") or ()]
    if body is not None:
        consumed = list(body["content"])
        parameters.insert(0, _body(body))
    else:
        consumed = produced if custom or _GVKS not in operation else ["*/*"]
    found: Object = {
        "consumes": consumed,
        "produces": produced,
        "schemes": ["https"],
        **{key: operation[key] for key in _CARRIED if key in operation},
        "responses": {code: _response(one) for code, one in operation["responses"].items()},
    }
    return found | {"parameters": parameters} if parameters else found


def _media(types: list[str]) -> list[str]:
    """With protobuf, which only documents of this version name."""
    plain = [one for one in types if not one.endswith(_STREAM)]
    streams = [f"{one}{_STREAM}" for one in ("application/json", _PROTOBUF)] if len(plain) < len(types) else []
    return [*plain, _PROTOBUF, *streams]


def _response(response: Mapping[str, Any]) -> Object:
    found: Object = {"description": response["description"]}
    content = response.get("content")
    if content:
        found["schema"] = definition(next(iter(content.values()))["schema"])
    return found


def _body(body: Mapping[str, Any]) -> Object:
    schema = definition(next(iter(body["content"].values()))["schema"])
    required = {"required": True} if body.get("required") else {}
    return {"name": "body", "in": "body", **required, "schema": schema}


def _parameter(parameter: Mapping[str, Any]) -> Object:
    own = {key: value for key, value in parameter.items() if key != "schema"}
    return {**parameter["schema"], **own}


def _shared(item: Object, parameters: dict[str, Any]) -> Object:
    """The same with references to parameters that stand once in the document."""
    found = dict(item)
    for method, operation in item.items():
        if method == "parameters":
            found[method] = [_refer(one, parameters) for one in operation]
        elif "parameters" in operation:
            found[method] = {**operation, "parameters": [_refer(one, parameters) for one in operation["parameters"]]}
    return found


def _refer(parameter: Object, parameters: dict[str, Any]) -> Object:
    if parameter["in"] == "body":
        return parameter
    name = parameter["name"] if parameter["in"] == "query" else f"{parameter['name']}-{parameter['in']}"
    parameters[name] = parameter
    return {"$ref": f"#/parameters/{name}"}
