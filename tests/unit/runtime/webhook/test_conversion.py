"""Conversion between the versions of a kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kapstan.machinery.base import Model
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.model import Resource
from kapstan.machinery.scheme import resource
from kapstan.runtime.webhook.conversion import Converter
from kapstan.runtime.webhook.declaration import Conversion, convert, declared


class Spec(Model):
    size: int = 0


class NewSpec(Model):
    replicas: int = 0
    note: str = ""


def version(name: str, spec: type[Model]) -> type[Resource]:
    cls: type[Resource] = type("Thing", (Resource,), {"__annotations__": {"spec": spec | None}, "spec": None})
    return resource(group="convert.kapstan.dev", version=name)(cls)


V1, V2, V3 = version("v1", Spec), version("v2", NewSpec), version("v3", NewSpec)


@convert(V1, V2)
def up(old: Any) -> Any:
    return V2(spec=NewSpec(replicas=old.spec.size))  # type: ignore[call-arg]


@convert(V2, V1)
def down(new: Any) -> Any:
    return V1(metadata=new.metadata, spec=Spec(size=new.spec.replicas))  # type: ignore[call-arg]


@convert(V2, V3)
async def further(new: Any) -> Any:
    new.metadata.annotations["was"] = "v2"
    return V3(metadata=new.metadata, spec=NewSpec(replicas=new.spec.replicas, note="v3"))  # type: ignore[call-arg]


@pytest.fixture
def converter() -> Converter:
    converter = Converter()
    for function in (up, down, further):
        conversion = declared(function)
        assert isinstance(conversion, Conversion)
        converter.add(conversion)
    return converter


METADATA = {
    "name": "t",
    "namespace": "ns",
    "uid": "u",
    "resourceVersion": "7",
    "annotations": {"a": "b"},
    "future": [1],
}


def thing(version: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"convert.kapstan.dev/{version}", "kind": "Thing", "metadata": dict(METADATA), "spec": spec}


async def test_one_step(converter: Converter) -> None:
    assert await converter.convert(thing("v1", size=3), "convert.kapstan.dev/v2") == thing("v2", replicas=3)
    assert await converter.convert(thing("v2", replicas=3), "convert.kapstan.dev/v1") == thing("v1", size=3)


async def test_several_steps_over_the_hub_and_annotations_that_were_changed(converter: Converter) -> None:
    converted = await converter.convert(thing("v1", size=3), "convert.kapstan.dev/v3")
    assert converted["spec"] == {"replicas": 3, "note": "v3"}
    assert converted["metadata"] == {**METADATA, "annotations": {"a": "b", "was": "v2"}}


async def test_the_same_version_is_left_alone(converter: Converter) -> None:
    assert await converter.convert(thing("v1", size=3, x=1), "convert.kapstan.dev/v1") == thing("v1", size=3, x=1)


async def test_a_review_is_answered(converter: Converter) -> None:
    request = {
        "uid": "c1",
        "desiredAPIVersion": "convert.kapstan.dev/v2",
        "objects": [thing("v1", size=1), thing("v2", replicas=2)],
    }
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    answer = json.loads(await converter.review(json.dumps(body).encode()))
    assert (answer["kind"], answer["response"]["uid"]) == ("ConversionReview", "c1")
    assert answer["response"]["result"] == {"status": "Success"}
    assert [one["spec"] for one in answer["response"]["convertedObjects"]] == [{"replicas": 1}, {"replicas": 2}]


async def test_what_cannot_be_converted_fails_with_a_reason(converter: Converter) -> None:
    request = {"uid": "c1", "desiredAPIVersion": "convert.kapstan.dev/v1", "objects": [thing("v3", replicas=1)]}
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    result = json.loads(await converter.review(json.dumps(body).encode()))["response"]["result"]
    assert result["status"] == "Failure" and "no conversion from" in result["message"]


async def test_an_object_that_does_not_fit_is_named(converter: Converter) -> None:
    with pytest.raises(BadRequest, match=r"does not fit convert\.kapstan\.dev/v1, Kind=Thing: .*size"):
        await converter.convert(thing("v1", size="big"), "convert.kapstan.dev/v2")


async def test_what_is_no_review_is_refused(converter: Converter) -> None:
    for body in (b"", b"{}", b"[]"):
        with pytest.raises(BadRequest, match="ConversionReview"):
            await converter.review(body)


def test_two_functions_for_one_step_are_refused(converter: Converter) -> None:
    again = declared(up)
    assert isinstance(again, Conversion)
    with pytest.raises(ValueError, match="two conversions"):
        converter.add(again)
    assert {str(kind) for kind in converter.kinds} == {"Thing.convert.kapstan.dev"}
