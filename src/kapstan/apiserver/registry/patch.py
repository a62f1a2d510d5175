"""Patch: the four ways to say what shall change in an object, each applied to its latest state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from kapstan.apiserver.registry import managed
from kapstan.apiserver.registry.accepting import wrong_type
from kapstan.apiserver.registry.errors import invalid, unprocessable
from kapstan.apiserver.registry.metadata import metadata_of
from kapstan.apiserver.registry.objects import clone
from kapstan.apiserver.registry.outcome import Outcome
from kapstan.apiserver.registry.strictness import report
from kapstan.apiserver.registry.update import guaranteed_update
from kapstan.apiserver.request import Request, WriteOptions
from kapstan.apiserver.strategy.typed import Mismatch
from kapstan.machinery.errors import BadRequest, Invalid, UnsupportedMediaType
from kapstan.machinery.golang import format_value, quote, to_json
from kapstan.machinery.gvk import GroupKind
from kapstan.machinery.patch import apply_json_patch, apply_merge_patch, apply_strategic_merge_patch
from kapstan.machinery.validation import FieldError

__all__ = ("PatchType", "patch", "patch_types")

Object = dict[str, Any]
PatchType = Literal[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]

_JSON: PatchType = "application/json-patch+json"
_MERGE: PatchType = "application/merge-patch+json"
_STRATEGIC: PatchType = "application/strategic-merge-patch+json"
_APPLY: PatchType = "application/apply-patch+yaml"


def patch_types(custom: bool) -> tuple[PatchType, ...]:
    """What a kind accepts; strategic merge needs to know how lists merge, which only built-in kinds say."""
    return (_JSON, _MERGE, _APPLY) if custom else (_JSON, _MERGE, _STRATEGIC, _APPLY)


async def patch(request: Request, patch_type: PatchType, body: Any, complaints: list[str]) -> Outcome:
    """Change an object by a decoded patch, of which `complaints` say what a strict reader has against it.

    Server-side apply may create the object.
    """
    if patch_type == _APPLY:
        return await _apply(request, body, complaints)

    async def change(old: Object | None) -> Object:
        assert old is not None
        return managed.update(request, old, _patched(request, patch_type, old, body, complaints))

    return await guaranteed_update(request, change)


async def _apply(request: Request, config: Any, complaints: list[str]) -> Outcome:
    if not isinstance(config, dict):
        raise BadRequest("error decoding YAML: an apply configuration is an object")
    options = request.options
    assert isinstance(options, WriteOptions)
    request.applies = True

    async def change(old: Object | None) -> Object:
        # Shaping changes what it is given; the next attempt, and the field manager, need the configuration as it came.
        new = _shaped(request, clone(managed.apply(request, old, config)))
        if complaints and options.field_validation == "Strict":
            lines = "\n  ".join(complaints)
            raise BadRequest(
                f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {lines}"
            )
        report(request, options.field_validation, complaints)
        return new

    return await guaranteed_update(request, change, allow_create=not request.subresource)


def _json_patched(old: Object, operations: Any) -> Any:
    try:
        return apply_json_patch(old, operations)
    except Invalid as error:
        raise unprocessable() from error


def _patched(request: Request, patch_type: PatchType, old: Object, body: Any, complaints: list[str]) -> Object:
    if patch_type == _JSON:
        new = _json_patched(old, body)
    elif patch_type == _MERGE:
        new = apply_merge_patch(old, body)
    elif patch_type == _STRATEGIC and not request.kind.custom:
        new = apply_strategic_merge_patch(old, body, request.kind.schema)
    else:
        raise UnsupportedMediaType(f"patch type {patch_type} is not supported")
    if not isinstance(new, dict) or not isinstance(new.get("metadata", {}), dict):
        if patch_type != _STRATEGIC:
            raise BadRequest("the patch does not leave an object with metadata")
        mismatch = Mismatch(new["metadata"], "v1.ObjectMeta")
        raise _refusal(_shown(patch_type, body, new), mismatch.restoring)
    return _shaped(request, clone(new), complaints, lambda: _shown(patch_type, body, new), patch_type)


def _shown(patch_type: PatchType, body: Any, patched: Object) -> str:
    """A patch that is refused: as Go prints it, or what would have come out of it, as Go encodes it."""
    return format_value(body) if patch_type == _STRATEGIC else to_json(patched)


def _shaped(
    request: Request,
    obj: Object,
    complaints: list[str] | None = None,
    shown: Callable[[], str] = str,
    patch_type: PatchType = _MERGE,
) -> Object:
    """The patched object, as its schema sees it: what a patch adds must fit as if it had been sent whole.

    `shown` says what a refusal shows of it. Without `complaints` it comes from a configuration that was applied,
    and nothing is said of unknown fields: they are known to the field manager, or dropped in silence.
    """
    kind = request.kind
    metadata_of(obj)
    try:
        if (obj.get("apiVersion"), obj.get("kind")) != (kind.gvk.api_version, kind.gvk.kind):
            raise wrong_type(request, str(obj.get("apiVersion")), str(obj.get("kind")), obj)
        unknown = kind.intake.shape(obj, applied=complaints is None)
    except BadRequest as error:
        raise _refusal(shown(), _words(patch_type, error)) from error
    if complaints is not None:
        _report(request, [*complaints, *(f"unknown field {quote(path)}" for path in unknown)], shown)
    return obj


def _words(patch_type: PatchType, error: BadRequest) -> str:
    """What is wrong, as Go says it: objects that strategic merge patches leave never were JSON."""
    mismatch = error.__cause__
    return mismatch.restoring if patch_type == _STRATEGIC and isinstance(mismatch, Mismatch) else str(error)


def _refusal(shown: str, why: str) -> Invalid:
    return invalid(GroupKind("", ""), "", [FieldError.invalid("patch", shown, why)])


def _report(request: Request, complaints: list[str], shown: Callable[[], str]) -> None:
    """What is strictly wrong with a patch is an invalid patch, where with a whole object it is a bad request."""
    options = request.options
    assert isinstance(options, WriteOptions)
    if complaints and options.field_validation == "Strict":
        raise _refusal(shown(), f"strict decoding error: {', '.join(complaints)}")
    report(request, options.field_validation, complaints)
