"""Admission: from an AdmissionReview to its answer. Pure, but for what the webhook's own function does."""

from __future__ import annotations

import base64
import inspect
import logging
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from kapstan.client.interface import gvk_of
from kapstan.machinery.codec import convert, decode, decode_any, encode, to_builtins
from kapstan.machinery.errors import APIError, BadRequest, Forbidden, InternalError, KapstanError
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.meta import Status
from kapstan.machinery.model import Resource
from kapstan.runtime.webhook.changes import json_patch, with_changes
from kapstan.runtime.webhook.declaration import Admission, RawAdmission

__all__ = ("AdmissionHandler", "AdmissionRequest", "AdmissionResponse", "RawHandler", "UserInfo")

log = logging.getLogger(__name__)

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"


class UserInfo(Struct, rename="camel", kw_only=True):
    """Who asks."""

    username: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)


class _Kind(Struct, kw_only=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Resource(Struct, kw_only=True):
    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(Struct, rename="camel", kw_only=True):
    """What is about to happen."""

    uid: str
    kind: _Kind = field(default_factory=_Kind)
    resource: _Resource = field(default_factory=_Resource)
    sub_resource: str = ""
    request_kind: _Kind | None = None
    request_resource: _Resource | None = None
    request_sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str = ""
    user_info: UserInfo = field(default_factory=UserInfo)
    object: Raw = Raw(b"null")
    old_object: Raw = Raw(b"null")
    dry_run: bool = False
    options: Raw = Raw(b"null")


class AdmissionResponse(Struct, kw_only=True):
    """What is answered."""

    allowed: bool
    warnings: list[str] = field(default_factory=list)
    patch: list[dict[str, Any]] = field(default_factory=list)  # operations of a JSON patch
    status: Status | None = None  # why it is refused
    audit_annotations: dict[str, str] = field(default_factory=dict)

    @classmethod
    def denied(cls, error: APIError) -> AdmissionResponse:
        return cls(allowed=False, status=error.status)


class _Review(Struct, rename="camel", kw_only=True):
    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None


_decode_review = msgspec.json.Decoder(_Review).decode


def read_review(body: bytes) -> AdmissionRequest:
    """The request in an AdmissionReview; BadRequest says what is wrong with it."""
    try:
        review = _decode_review(body)
    except msgspec.MsgspecError as error:
        raise BadRequest(f"this is no AdmissionReview: {error}") from error
    if review.kind != KIND or review.api_version != API_VERSION or review.request is None:
        raise BadRequest(f"expected an AdmissionReview of {API_VERSION}, got {review.kind} of {review.api_version}")
    return review.request


def write_review(request: AdmissionRequest, response: AdmissionResponse) -> bytes:
    """The AdmissionReview that answers a request."""
    answer: dict[str, Any] = {"uid": request.uid, "allowed": response.allowed}
    if response.warnings:
        answer["warnings"] = response.warnings
    if response.audit_annotations:
        answer["auditAnnotations"] = response.audit_annotations
    if response.patch and response.allowed:
        answer["patch"] = base64.b64encode(encode(response.patch)).decode()
        answer["patchType"] = "JSONPatch"
    if response.status is not None:
        answer["status"] = to_builtins(response.status)
    return encode({"apiVersion": API_VERSION, "kind": KIND, "response": answer})


class AdmissionHandler:
    """Answers for a defaulter or a validator."""

    def __init__(self, declaration: Admission) -> None:
        self.declaration = declaration
        self._function = _flexible(declaration.function, 1 if declaration.mutating else 2)

    async def __call__(self, request: AdmissionRequest) -> AdmissionResponse:
        if request.operation.lower() not in self.declaration.operations:
            return AdmissionResponse(allowed=True)
        try:
            new, old = self._decoded(request.object), self._decoded(request.old_object)
            if self.declaration.mutating:
                return await self._default(request, new)
            warnings = await self._function(new, old, request)
        except APIError as error:
            return AdmissionResponse.denied(error)
        except (KapstanError, ValueError) as error:
            return AdmissionResponse.denied(Forbidden(str(error)))
        return AdmissionResponse(allowed=True, warnings=_warnings(warnings))

    async def _default(self, request: AdmissionRequest, obj: Any) -> AdmissionResponse:
        if obj is None:
            return AdmissionResponse(allowed=True)
        before = to_builtins(obj)
        warnings = await self._function(obj, request)
        raw = decode_any(request.object)
        changed = with_changes(raw, before, to_builtins(obj))
        return AdmissionResponse(allowed=True, warnings=_warnings(warnings), patch=json_patch(raw, changed))

    def _decoded(self, raw: Raw) -> Any:
        kind = self.declaration.kind
        value = decode_any(raw)
        if value is None or isinstance(kind, GroupVersionKind):
            return value
        try:
            return convert(value, kind)
        except msgspec.ValidationError as error:
            raise BadRequest(f"the object does not fit {gvk_of(kind).kind}: {error}") from error


class RawHandler:
    """Answers for a function of requests."""

    def __init__(self, declaration: RawAdmission) -> None:
        self._function = _flexible(declaration.function, 1)

    async def __call__(self, request: AdmissionRequest) -> AdmissionResponse:
        try:
            response = await self._function(request)
        except APIError as error:
            return AdmissionResponse.denied(error)
        if not isinstance(response, AdmissionResponse):
            raise TypeError(f"a raw webhook returns an AdmissionResponse, not {response!r}")
        return response


def decode_object(raw: Raw, kind: type[Resource]) -> Resource | None:
    """The object of a request as its class, for raw webhooks; None if there is none."""
    return None if bytes(raw) == b"null" else decode(raw, kind)


def failed(error: Exception) -> AdmissionResponse:
    """The answer to a request whose webhook has a mistake."""
    return AdmissionResponse.denied(InternalError(f"the webhook has failed: {type(error).__name__}; see its log"))


def _flexible(function: Callable[..., Any], least: int) -> Callable[..., Any]:
    """A function that may be async or not, and may take the request or not."""
    positional = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    takes = max(least, len(positional))

    async def call(*arguments: Any) -> Any:
        result = function(*arguments[:takes])
        return await result if inspect.isawaitable(result) else result

    return call


def _warnings(returned: Any) -> list[str]:
    if returned is None:
        return []
    return [returned] if isinstance(returned, str) else [str(warning) for warning in returned]
