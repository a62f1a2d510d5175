"""Our answers to the oracle's questions, in the oracle's terms: both must answer alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from kapstan.apiserver import builtin
from kapstan.machinery.apply import FieldManager, excluding, from_scale, keep_timestamps, to_scale
from kapstan.machinery.apply.comparison import compare
from kapstan.machinery.apply.fieldpath import (
    Fields,
    FieldsError,
    canonical,
    difference,
    intersection,
    leaves,
    path_string,
    paths,
    recursive_difference,
    union,
)
from kapstan.machinery.apply.fieldset import fields_of, reconcile, with_named_fields
from kapstan.machinery.apply.merging import merge
from kapstan.machinery.apply.removal import extract, remove
from kapstan.machinery.apply.types import ANYTHING, Atom, TypedError, compile_type
from kapstan.machinery.apply.validation import validate
from kapstan.machinery.errors import APIError
from kapstan.machinery.gvk import GroupVersion
from kapstan.machinery.patch import apply_json_patch, apply_merge_patch, apply_strategic_merge_patch
from kapstan.machinery.schema import compile_schema

from .kinds import GROUP, RENAMED, RESET, WIDGET, WIDGET_CHANGED

__all__ = ("Answer", "answer", "comparable")

Answer = dict[str, Any]
NOW = "2999-01-01T00:00:00Z"


def answer(op: str, args: dict[str, Any]) -> Answer:
    """Our answer: a result, or an error with its text."""
    try:
        return {"result": _ANSWERS[op](args)}
    except APIError as error:
        causes = [{"reason": each.reason, "message": each.message, "field": each.field} for each in error.causes]
        return {"error": str(error), "reason": error.reason, **({"causes": causes} if causes else {})}
    except (TypedError, FieldsError) as error:
        return {"error": str(error)}


def comparable(op: str, args: dict[str, Any], given: Answer) -> Any:
    """An answer without what may differ: the clock, Go's random order, and what Go's types add or leave out."""
    if "error" in given:
        if op == "patch.strategic" or "errors:" in given["error"] or "not declared" in given["error"]:
            return "error"  # of several, Go reports those that it happens to come by
        causes = sorted(map(_text, given.get("causes") or ()))
        return [given["error"].removesuffix(": %!w(<nil>)"), causes]
    result = given["result"]
    if op.startswith("manager."):
        known = set(_times(args["live"])) | set(_times(args["new"]))
        typed = " " in args["name"]
        entries = [_readable(entry, known, typed) for entry in _entries(result)]
        return [entries, _without_zeros(_bare(result)) if typed else _text(_bare(result))]
    if op.startswith("scale."):
        return sorted(map(_text, result or ()))  # Go leaves the order of equals to chance
    return _text(result)


def _text(value: Any) -> str:
    return json.dumps(_plain_numbers(value), sort_keys=True)


def _plain_numbers(value: Any) -> Any:
    """Go writes 1.0 as 1."""
    if isinstance(value, dict):
        return {key: _plain_numbers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _entries(obj: dict[str, Any] | None) -> list[Any]:
    return ((obj or {}).get("metadata") or {}).get("managedFields") or []


def _times(obj: dict[str, Any] | None) -> list[str]:
    return [entry["time"] for entry in _entries(obj) if isinstance(entry, dict) and entry.get("time")]


def _readable(entry: dict[str, Any], known: set[str], typed: bool) -> dict[str, Any]:
    """The order of a set's keys counts, where Go keeps it; of the times, only whether they are new."""
    time: str | None = entry.get("time")
    if time is not None and time not in known:
        time = "now"
    return {**entry, "fieldsV1": json.dumps(entry["fieldsV1"], sort_keys=not typed), "time": time}


def _bare(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


def _without_zeros(value: Any) -> Any:
    if isinstance(value, dict):
        parts = {key: _without_zeros(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part and part != "0"}
    return [_without_zeros(part) for part in value] if isinstance(value, list) else value


@cache
def atom_of(definition: str) -> Atom:
    if not definition:
        return ANYTHING
    if definition.startswith("dev.example."):
        version = definition.split(".")[2]
        return compile_type(compile_schema(WIDGET_CHANGED if version == "changed" else WIDGET[version]))
    return compile_type(builtin.definitions().schema(definition))


@cache
def manager_of(name: str) -> FieldManager:
    """`apps/v1 Deployment:status`, `Widget/v1:`; ours serve all subresources."""
    name = name.partition(":")[0]
    reset = {subresource: excluding(*fields) for subresource, fields in RESET.items()}
    api_version, _, kind = name.rpartition(" ")
    if api_version:
        definition = builtin.definition_name(*GroupVersion.parse(api_version), kind)
        assert definition is not None
        return FieldManager(builtin.definitions().schema(definition), api_version, kind, reset_fields=reset)
    kind, _, version = name.partition("/")
    if kind == "Free":
        return FieldManager(None, f"{GROUP}/v1", kind)
    versions = {f"{GROUP}/{each}": compile_schema(WIDGET[each]) for each in WIDGET if each != version}
    schema = compile_schema(WIDGET[version])
    return FieldManager(schema, f"{GROUP}/{version}", kind, versions=versions, convert=converted, reset_fields=reset)


def converted(obj: dict[str, Any], api_version: str) -> dict[str, Any]:
    names = {new: old for old, new in RENAMED[obj["apiVersion"].split("/")[1]].items()}
    renamed = RENAMED[api_version.split("/")[1]]
    result = {**obj, "apiVersion": api_version}
    if isinstance(obj.get("spec"), dict):
        common = {names.get(name, name): value for name, value in obj["spec"].items()}
        result["spec"] = {renamed.get(name, name): value for name, value in common.items()}
    return result


def _set_text(fields: Fields) -> str:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def _typed(run: Callable[[Atom, dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda args: run(atom_of(args.get("type") or ""), args)


def _compared(atom: Atom, args: dict[str, Any]) -> dict[str, str]:
    found = compare(atom, args["value"], args["other"], literal=True)
    return {name: _set_text(fields) for name, fields in found._asdict().items()}


def _combined(args: dict[str, Any]) -> dict[str, str]:
    left, right = canonical(args["left"]), canonical(args["right"])
    operations = {
        "union": union,
        "intersection": intersection,
        "difference": difference,
        "recursive_difference": recursive_difference,
    }
    combined = {name: _set_text(operation(left, right)) for name, operation in operations.items()}
    return {**combined, "leaves": _set_text(leaves(left))}


def _updated(args: dict[str, Any]) -> dict[str, Any]:
    return manager_of(args["name"]).update(
        args["live"], args["new"], args["manager"], now=NOW, subresource=args["name"].partition(":")[2]
    )


def _applied(args: dict[str, Any]) -> dict[str, Any]:
    return manager_of(args["name"]).apply(
        args["live"],
        args["new"],
        args["manager"],
        force=args["force"],
        now=NOW,
        subresource=args["name"].partition(":")[2],
    )


def _strategic(args: dict[str, Any]) -> dict[str, Any]:
    definition = builtin.definition_name(args["group"], args["version"], args["kind"])
    assert definition is not None
    return apply_strategic_merge_patch(args["document"], args["patch"], builtin.definitions().schema(definition))


def _scale(args: dict[str, Any]) -> list[dict[str, Any]] | None:
    replicas = {version: tuple(names) if names else None for version, names in args["mappings"].items()}
    if "scale" in args:
        version = "/".join(args["groupVersion"].values())
        return from_scale(args["entries"], args["scale"], version, replicas) or None
    return to_scale(args["entries"], replicas) or None


_ANSWERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "patch.json": lambda args: apply_json_patch(args["document"], args["patch"]),
    "patch.merge": lambda args: apply_merge_patch(args["document"], args["patch"]),
    "patch.strategic": _strategic,
    "set.normalize": lambda args: _set_text(canonical(args["left"])),
    "set.paths": lambda args: [path_string(path) for path in paths(canonical(args["left"]))],
    "set.combine": _combined,
    "typed.validate": _typed(lambda atom, args: validate(atom, args["value"])),
    "typed.fields": _typed(lambda atom, args: _set_text(fields_of(atom, args["value"]))),
    "typed.compare": _typed(_compared),
    "typed.merge": _typed(lambda atom, args: merge(atom, args["value"], args["other"])),
    "typed.remove": _typed(lambda atom, args: remove(atom, args["value"], canonical(args["fields"]))),
    "typed.extract": _typed(lambda atom, args: extract(atom, args["value"], canonical(args["fields"]))),
    "typed.named": _typed(lambda atom, args: _set_text(with_named_fields(canonical(args["fields"]), atom))),
    "typed.reconcile": _typed(lambda atom, args: _set_text(reconcile(canonical(args["fields"]), atom))),
    "scale.sub": _scale,
    "scale.parent": _scale,
    "manager.timestamps": lambda args: keep_timestamps(args["live"], args["new"]),
    "manager.update": _updated,
    "manager.apply": _applied,
}
