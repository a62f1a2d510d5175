"""AdmissionReview: the question that a webhook is asked, and its answer, checked."""

from __future__ import annotations

import base64
import binascii
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import Struct

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.webhook.invocation import (
    Invocation,
    admission_name,
    admission_namespace,
    kind_of,
)
from kapstan.apiserver.authn.interface import user_info
from kapstan.apiserver.kinds import ServedKind
from kapstan.machinery import codec
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupVersionKind, GroupVersionResource

__all__ = ("BadResponse", "Response", "Review", "described")

_GROUP = "admission.k8s.io"
_KNOWN = ("v1", "v1beta1")

Object = dict[str, Any]


class BadResponse(Exception):
    """What the webhook answered is no answer; the text is Kubernetes'."""


class Response(Struct, rename="camel"):
    """What a webhook decided, as it said it."""

    uid: str = ""
    allowed: bool = False
    patch: str = ""  # base64
    patch_type: str | None = None
    status: Object | None = None
    warnings: list[str] = []

    def operations(self) -> bytes:
        """The patch itself, still undecoded JSON."""
        try:
            return base64.b64decode(self.patch, validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadResponse(f"failed to call webhook: response.patch is not base64: {error}") from error


class _Answer(Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    response: Response | None = None


class Review:
    """One question. `version` is the first one that the webhook and we both know."""

    def __init__(
        self, attributes: AdmissionAttributes, invocation: Invocation, obj: Object | None, old: Object | None
    ) -> None:
        self.uid = str(uuid4())
        version = next((known for known in invocation.hook.versions if known in _KNOWN), None)
        if version is None:
            raise BadResponse(
                "could not create admission objects: "
                "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            )
        self.version = version
        self.document: Object = {
            "kind": "AdmissionReview",
            "apiVersion": f"{_GROUP}/{version}",
            "request": self._request(attributes, invocation, obj, old),
        }

    def _request(
        self, attributes: AdmissionAttributes, invocation: Invocation, obj: Object | None, old: Object | None
    ) -> Object:
        told = described(attributes, invocation.kind)
        dry_run, options = told.pop("dryRun"), told.pop("options")
        return {"uid": self.uid, **told, "object": obj, "oldObject": old, "dryRun": dry_run, "options": options}

    def response(self, answer: Any, *, mutating: bool) -> Response:
        """The decision in an answer; BadResponse says what is wrong with it."""
        try:
            found = codec.convert(answer, _Answer)
        except msgspec.ValidationError as error:
            raise BadResponse(f"failed to call webhook: {error}") from error
        response = found.response
        if response is None:
            raise _invalid("webhook response was absent")
        if self.version == "v1":
            _check_v1(found, response, self.uid, mutating)
        else:  # v1beta1 knew one type of patch, and asked for nothing else
            response.patch_type = "JSONPatch" if response.patch else None
        return response


def described(attributes: AdmissionAttributes, shown: ServedKind) -> Object:
    """Who does what to which object, all but the object: what reviews and expressions have in common.

    `shown` is the kind in whose version the object is shown.
    """
    subresource = attributes.subresource
    told: Object = {
        "kind": _kind(kind_of(shown, subresource)),
        "resource": _resource(shown.gvr),
        "subResource": subresource,
        "requestKind": _kind(kind_of(attributes.kind, subresource)),
        "requestResource": _resource(attributes.kind.gvr),
        "requestSubResource": subresource,
        "name": admission_name(attributes),
        "namespace": admission_namespace(attributes),
        "operation": attributes.operation,
        "userInfo": user_info(attributes.user),
        "dryRun": attributes.dry_run,
        "options": attributes.options or None,
    }
    return {key: value for key, value in told.items() if value != ""}


def _check_v1(answer: _Answer, response: Response, uid: str, mutating: bool) -> None:
    if response.uid != uid:
        raise _invalid(f"expected response.uid={quote(uid)}, got {quote(response.uid)}")
    if (answer.api_version, answer.kind) != (f"{_GROUP}/v1", "AdmissionReview"):
        shown = f"{answer.api_version or '/'}, Kind={answer.kind}"
        raise _invalid(f"expected webhook response of {_GROUP}/v1, Kind=AdmissionReview, got {shown}")
    if not mutating:
        if response.patch:
            raise _invalid("validating webhook may not return response.patch")
        if response.patch_type is not None:
            raise _invalid("validating webhook may not return response.patchType")
        return
    if response.patch and response.patch_type is None:
        raise _invalid("webhook returned response.patch but not response.patchType")
    if not response.patch and response.patch_type is not None:
        raise _invalid("webhook returned response.patchType but not response.patch")
    if response.patch_type == "":
        raise _invalid('webhook returned invalid response.patchType of ""')


def _invalid(why: str) -> BadResponse:
    return BadResponse(f"received invalid webhook response: {why}")


def _kind(gvk: GroupVersionKind) -> Object:
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


def _resource(gvr: GroupVersionResource) -> Object:
    return {"group": gvr.group, "version": gvr.version, "resource": gvr.resource}
