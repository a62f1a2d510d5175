"""Answers to admission reviews."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kapstan.machinery.base import Model
from kapstan.machinery.errors import BadRequest, Forbidden, Invalid
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource
from kapstan.machinery.patch import apply_json_patch
from kapstan.machinery.scheme import resource
from kapstan.runtime.webhook.admission import (
    AdmissionHandler,
    AdmissionRequest,
    AdmissionResponse,
    RawHandler,
    failed,
    read_review,
    write_review,
)
from kapstan.runtime.webhook.declaration import (
    Admission,
    Conversion,
    RawAdmission,
    declared,
    defaulter,
    raw_webhook,
    validator,
)


class GadgetSpec(Model):
    size: int | None = None
    tier: str = ""


@resource(group="hooks.kapstan.dev", version="v1")
class Gadget(Resource):
    spec: GadgetSpec | None = None


def review(operation: str = "CREATE", obj: Any = None, old: Any = None, **more: Any) -> bytes:
    request = {
        "uid": "r1",
        "kind": {"group": "hooks.kapstan.dev", "version": "v1", "kind": "Gadget"},
        "operation": operation,
        "userInfo": {"username": "alice"},
        "object": obj,
        "oldObject": old,
        **more,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def gadget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "hooks.kapstan.dev/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": spec}


async def answer(function: Any, body: bytes) -> dict[str, Any]:
    found = declared(function)
    assert not isinstance(found, Conversion)
    handler = RawHandler(found) if isinstance(found, RawAdmission) else AdmissionHandler(found)
    request = read_review(body)
    response: dict[str, Any] = json.loads(write_review(request, await handler(request)))["response"]
    assert response["uid"] == "r1"
    return response


def patched(response: dict[str, Any], obj: Any) -> Any:
    assert response["patchType"] == "JSONPatch"
    return apply_json_patch(obj, json.loads(base64.b64decode(response["patch"])))


@defaulter(Gadget)
def default(obj: Gadget) -> None:
    obj.spec = obj.spec or GadgetSpec()
    if obj.spec.size is None:
        obj.spec.size = 3


@validator(Gadget, on={"update", "create", "delete"})
def validate(new: Gadget | None, old: Gadget | None) -> list[str]:
    if new is None:
        raise Forbidden("gadgets are never deleted")
    assert new.spec is not None
    if (new.spec.size or 0) > 10:
        raise Invalid("spec.size: at most 10")
    if old is not None and old.spec is not None and old.spec.tier != new.spec.tier:
        raise ValueError("the tier never changes")
    return ["size 1 is not highly available"] if new.spec.size == 1 else []


async def test_defaults_become_a_patch_that_leaves_unknown_fields_alone() -> None:
    obj = gadget(unknown={"kept": True})
    response = await answer(default, review(obj=obj))
    assert response["allowed"]
    assert patched(response, obj)["spec"] == {"unknown": {"kept": True}, "size": 3}


async def test_defaults_reach_what_is_not_there_at_all() -> None:
    obj = gadget()
    del obj["spec"]
    assert patched(await answer(default, review(obj=obj)), obj)["spec"] == {"size": 3}


async def test_nothing_to_default_is_no_patch() -> None:
    response = await answer(default, review(obj=gadget(size=5)))
    assert response == {"uid": "r1", "allowed": True}


async def test_a_defaulter_is_not_asked_on_delete() -> None:
    assert (await answer(default, review("DELETE", old=gadget())))["allowed"]


async def test_warnings_are_passed_on() -> None:
    response = await answer(validate, review(obj=gadget(size=1)))
    assert (response["allowed"], response["warnings"]) == (True, ["size 1 is not highly available"])


@pytest.mark.parametrize(
    ("body", "code", "reason", "message"),
    [
        (review(obj=gadget(size=11)), 422, "Invalid", "spec.size: at most 10"),
        (review("UPDATE", gadget(tier="b"), gadget(tier="a")), 403, "Forbidden", "the tier never changes"),
        (review("DELETE", old=gadget()), 403, "Forbidden", "gadgets are never deleted"),
        (review(obj=gadget(size="large")), 400, "BadRequest", "does not fit Gadget"),
    ],
    ids=["invalid", "value_error", "delete", "does_not_fit"],
)
async def test_refusals_say_why(body: bytes, code: int, reason: str, message: str) -> None:
    response = await answer(validate, body)
    assert not response["allowed"]
    assert (response["status"]["code"], response["status"]["reason"]) == (code, reason)
    assert message in response["status"]["message"]


async def test_functions_may_be_async_and_take_the_request() -> None:
    @validator(Gadget)
    async def who(new: Gadget, old: Gadget | None, request: AdmissionRequest) -> str:
        return f"hello {request.user_info.username}"

    assert (await answer(who, review(obj=gadget())))["warnings"] == ["hello alice"]


async def test_untyped_objects_can_be_defaulted() -> None:
    @defaulter(GroupVersionKind("hooks.kapstan.dev", "v1", "Gadget"))
    def untyped(obj: dict[str, Any]) -> None:
        obj["spec"]["color"] = "red"

    assert patched(await answer(untyped, review(obj=gadget())), gadget())["spec"] == {"color": "red"}


async def test_a_raw_webhook_answers_itself() -> None:
    @raw_webhook("/raw")
    def raw(request: AdmissionRequest) -> AdmissionResponse:
        return AdmissionResponse(allowed=request.operation == "CREATE", audit_annotations={"seen": "yes"})

    response = await answer(raw, review(obj=gadget()))
    assert response == {"uid": "r1", "allowed": True, "auditAnnotations": {"seen": "yes"}}


async def test_a_raw_webhook_must_return_a_response() -> None:
    @raw_webhook("/raw")
    def raw(request: AdmissionRequest) -> bool:
        return True

    with pytest.raises(TypeError, match="returns an AdmissionResponse"):
        await answer(raw, review(obj=gadget()))


def test_a_mistake_is_told_without_its_details() -> None:
    response = failed(KeyError("password of the database"))
    assert response.status is not None
    assert response.status.code == 500 and "password" not in (response.status.message or "")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b'{"kind":"Pod"}',
        b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"x"}}',
    ],
)
def test_what_is_no_review_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest, match="AdmissionReview"):
        read_review(body)


def test_paths_and_names_are_controller_runtimes() -> None:
    mutating, validating = declared(default), declared(validate)
    assert isinstance(mutating, Admission) and isinstance(validating, Admission)
    assert mutating.path == "/mutate-hooks-kapstan-dev-v1-gadget"
    assert mutating.name == "mgadget-v1.hooks.kapstan.dev"
    assert validating.path == "/validate-hooks-kapstan-dev-v1-gadget"
    assert validating.operations == ("create", "update", "delete")


def test_nonsense_is_refused_where_it_is_written() -> None:
    with pytest.raises(ValueError, match="not on patch"):
        validator(Gadget, on={"patch"})(lambda new, old: None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="begins with a slash"):
        raw_webhook("raw")
    with pytest.raises(TypeError, match="is no webhook"):
        declared(len)
