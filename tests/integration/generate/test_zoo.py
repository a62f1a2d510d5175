"""One field for each marker: the CRD is that of controller-gen, and both API servers enforce it alike."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import pytest
from msgspec import Meta, field

from kapstan.client import Patch
from kapstan.generate.crd import crds_of
from kapstan.generate.manifest import manifests
from kapstan.generate.schema import without_descriptions
from kapstan.machinery import markers as m
from kapstan.machinery.codec import load_yaml
from kapstan.machinery.errors import APIError, Invalid
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.meta import (
    Condition,
    Duration,
    Int32,
    Int64,
    IntOrString,
    LabelSelector,
    MicroTime,
    ObjectMeta,
    Quantity,
    Time,
)
from kapstan.machinery.model import Column, Model, Resource, Scale
from kapstan.machinery.rules import at_least_one_of, at_most_one_of, cel, exactly_one_of
from kapstan.machinery.scheme import resource
from kapstan.testing import Environment

VECTORS = Path(__file__).parent / "vectors/zoo.json"
GROUP = "zoo.kapstan.dev"


class Colour(enum.StrEnum):
    RED = "Red"
    BLUE = "Blue"


Port: TypeAlias = Annotated[Int32, Meta(ge=1, le=65535)]


class RequiredFields(Model):
    zulu: str
    alpha: Annotated[str, m.Required()] = ""
    mike: Annotated[str, m.Optional()]


class Named(Model):
    name: str
    value: str | None = None


@exactly_one_of("a", "b")
class ExactlyOne(Model):
    a: str | None = None
    b: str | None = None


@at_most_one_of("a", "b")
class AtMostOne(Model):
    a: str | None = None
    b: str | None = None


@at_least_one_of("a", "b")
class AtLeastOne(Model):
    a: str | None = None
    b: str | None = None


@cel("self.low <= self.high", message="low must not be above high", field_path=".low")
class TypeRule(Model):
    low: Int64
    high: Int64


class Template(Model):
    metadata: ObjectMeta | None = None


class SpecimenSpec(Model):
    """One field for each marker."""

    replicas: Int32 | None = None
    minimum: Annotated[Int64, Meta(ge=2)] | None = None
    maximum: Annotated[Int64, Meta(le=5)] | None = None
    exclusive_minimum: Annotated[Int64, Meta(gt=2)] | None = None
    exclusive_maximum: Annotated[Int64, Meta(lt=5)] | None = None
    multiple_of: Annotated[Int64, Meta(multiple_of=3)] | None = None
    min_length: Annotated[str, Meta(min_length=2)] | None = None
    max_length: Annotated[str, Meta(max_length=3)] | None = None
    pattern: Annotated[str, Meta(pattern="^[a-z]+$")] | None = None
    min_items: Annotated[list[str], Meta(min_length=2)] | None = None
    max_items: Annotated[list[str], Meta(max_length=2)] | None = None
    min_properties: Annotated[dict[str, str], Meta(min_length=2)] | None = None
    max_properties: Annotated[dict[str, str], m.MaxProperties(2)] | None = None
    enum: Literal["Red", "Blue"] | None = None
    named_enum: Colour | None = None
    integer_enum: Annotated[Literal[1, 2], m.Format("int64")] | None = None
    format: Annotated[str, m.Format("ipv4")] | None = None
    schema_type: Annotated[Any, m.Schemaless(), m.SchemaType("string")] = None
    int32: Int32 | None = None
    boolean: bool | None = None
    bytes: Annotated[str, m.Format("byte")] | None = None
    time: Time | None = None
    micro_time: MicroTime | None = None
    duration: Duration | None = None
    quantity: Quantity | None = None
    int_or_string: IntOrString | None = None
    required: RequiredFields | None = None
    default: Annotated[Int64, m.Default(7)] | None = None
    default_object: Annotated[dict[str, str], m.Default({"a": "b"})] | None = None
    nullable: Annotated[str | None, m.Nullable()] = None
    example: Annotated[str, Meta(title="A title"), m.Example("hello")] | None = None
    items: list[Annotated[str, Meta(min_length=2, pattern="^a")]] | None = None
    rule: (
        Annotated[
            str,
            Meta(max_length=10),
            m.CEL("self.startsWith('a')", "must start with a", reason="FieldValueInvalid"),
            m.CEL("self.size() < 5", message_expression="'too long: ' + self"),
        ]
        | None
    ) = None
    immutable: Annotated[str, Meta(max_length=10), m.Immutable()] | None = None
    exactly_one: ExactlyOne | None = None
    at_most_one: AtMostOne | None = None
    at_least_one: AtLeastOne | None = None
    type_rule: TypeRule | None = None
    raw: dict[str, Any] | None = None
    any_json: Any = field(default=None, name="anyJSON")
    preserve_unknown: Annotated[Named, m.PreserveUnknown()] | None = None
    embedded: Annotated[dict[str, Any], m.Embedded()] | None = None
    schemaless: Annotated[Named, m.Schemaless(), m.PreserveUnknown()] | None = None
    list_set: Annotated[list[str], m.ListSet()] | None = None
    list_atomic: Annotated[list[str], m.ListAtomic()] | None = None
    list_map: Annotated[list[Named], m.ListMap("name")] | None = None
    map_atomic: Annotated[dict[str, str], m.MapAtomic()] | None = None
    map_granular: Annotated[dict[str, str], m.MapGranular()] | None = None
    struct_atomic: Annotated[Named, m.StructAtomic()] | None = None
    named_bounds: Port | None = None
    nested: dict[str, list[Named]] | None = None
    selector: LabelSelector | None = None
    template: Template | None = None
    selectable: str | None = None


class SpecimenStatus(Model):
    replicas: Int32 | None = None
    selector: str | None = None
    conditions: Annotated[list[Condition], m.ListMap("type")] = field(default_factory=list)


@resource(
    group=GROUP,
    version="v1",
    plural="specimens",
    singular="specimen",
    short_names=["spc", "spm"],
    categories=["zoo", "all"],
    scale=Scale(selector=".status.selector"),
    columns=[
        Column("Replicas", ".spec.replicas", "integer", format="int32", description="wanted", priority=1),
        Column.age(),
    ],
    selectable=[".spec.selectable"],
    labels={"purpose": "test"},
    annotations={"note": "keep"},
)
class Specimen(Resource):
    spec: SpecimenSpec
    status: SpecimenStatus = field(default_factory=SpecimenStatus)


@resource(group=GROUP, version="v1", scope="Cluster")
class Cage(Resource):
    bars: Int32 | None = None


@resource(group=GROUP, version="v1")
class Keeper(Resource):
    full_name: str | None = None


def former_keeper() -> type[Resource]:
    @resource(group=GROUP, version="v1beta1", storage=False, served=False, deprecated="use v1")
    class Keeper(Resource):
        name_: str | None = field(default=None, name="name")

    return Keeper


ZOO = crds_of([Specimen, Cage, Keeper, former_keeper()])
SPECIMEN = GroupVersionKind(GROUP, "v1", "Specimen")


def test_the_zoo_is_what_controller_gen_makes_of_its_go_twins() -> None:
    assert without_descriptions(ZOO) == json.loads(VECTORS.read_text())


def test_the_text_of_the_zoo_is_read_back_as_it_was() -> None:
    assert list(load_yaml(manifests(ZOO))) == ZOO


# field, a value that is accepted, one that is refused, and where below the field the refusal points
BOUNDS: list[tuple[str, Any, Any, str]] = [
    ("minimum", 2, 1, ""),
    ("maximum", 5, 6, ""),
    ("exclusiveMinimum", 3, 2, ""),
    ("exclusiveMaximum", 4, 5, ""),
    ("multipleOf", 9, 10, ""),
    ("minLength", "ab", "a", ""),
    ("maxLength", "äöü", "abcd", ""),
    ("pattern", "abc", "ABC", ""),
    ("minItems", ["a", "b"], ["a"], ""),
    ("maxItems", ["a", "b"], ["a", "b", "c"], ""),
    ("minProperties", {"a": "1", "b": "2"}, {"a": "1"}, ""),
    ("maxProperties", {"a": "1", "b": "2"}, {"a": "1", "b": "2", "c": "3"}, ""),
    ("enum", "Red", "Green", ""),
    ("namedEnum", "Blue", "Green", ""),
    ("integerEnum", 2, 3, ""),
    ("format", "10.0.0.1", "10.0.0.256", ""),
    ("schemaType", "text", 3, ""),
    ("int32", 2**31 - 1, 2**31, "<nil>"),  # kube-openapi names the field in the message alone
    ("boolean", True, "true", ""),
    ("bytes", "aGVsbG8=", "no base 64", ""),
    ("time", "2026-01-02T03:04:05Z", "yesterday", ""),
    ("microTime", "2026-01-02T03:04:05.123456Z", "soon", ""),
    ("duration", "1h30m", 90, ""),
    ("quantity", "1.5Gi", "much", ""),
    ("intOrString", "50%", True, ""),
    ("required", {"zulu": "z", "alpha": "a"}, {"zulu": "z"}, ".alpha"),
    ("default", 1, "one", ""),
    ("nullable", None, 1, ""),
    ("items", ["ab", "ac"], ["ab", "b"], "[1]"),
    ("rule", "abc", "bcd", ""),
    ("rule", "abcd", "abcdef", ""),
    ("exactlyOne", {"a": "1"}, {"a": "1", "b": "2"}, ""),
    ("exactlyOne", {"b": "1"}, {}, ""),
    ("atMostOne", {}, {"a": "1", "b": "2"}, ""),
    ("atLeastOne", {"a": "1", "b": "2"}, {}, ""),
    ("typeRule", {"low": 1, "high": 2}, {"low": 3, "high": 2}, ".low"),
    ("raw", {"any": [1]}, "text", ""),
    ("embedded", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}, {"kind": "Pod"}, ".apiVersion"),
    ("listSet", ["a", "b"], ["a", "b", "a"], "[2]"),
    ("listMap", [{"name": "a"}, {"name": "b"}], [{"name": "a"}, {"name": "a"}], "[1]"),
    ("listMap", [{"name": "a"}], [{"value": "b"}], "[0].name"),
    ("structAtomic", {"name": "a"}, {"name": 1}, ".name"),
    ("namedBounds", 65535, 0, ""),
    ("nested", {"x": [{"name": "a"}]}, {"x": [{"name": "a"}, {"value": "b"}]}, ".x[1].name"),
    ("selector", {"matchLabels": {"a": "b"}}, {"matchExpressions": [{"key": "a"}]}, ".matchExpressions[0].operator"),
    ("anyJSON", [1, "two", {"three": None}], None, ""),
    ("preserveUnknown", {"name": "a", "more": 1}, {"more": 1}, ".name"),
]


def specimen(namespace: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": SPECIMEN.api_version,
        "kind": SPECIMEN.kind,
        "metadata": {"generateName": "specimen-", "namespace": namespace},
        "spec": spec,
    }


async def refusals(env: Environment) -> dict[str, Any]:
    """What the API server says to each bad value; each good one it accepts."""
    await env.install(*ZOO)
    namespace = await env.namespace()
    found: dict[str, Any] = {}
    for position, (name, good, bad, where) in enumerate(BOUNDS):
        created = await env.client.create(specimen(namespace, **{name: good}))
        assert name in created["spec"] or good is None, name
        if bad is None:
            continue
        with pytest.raises(APIError) as refused:
            await env.client.create(specimen(namespace, **{name: bad}))
        details = refused.value.status.details
        causes = [(cause.field, cause.reason, cause.message) for cause in details.causes] if details else []
        path = where if where.startswith("<") else f"spec.{name}{where}"
        assert path in [cause[0] for cause in causes], (name, refused.value)
        found[f"{position} {name}"] = sorted(causes)
    return found


@pytest.mark.real
async def test_good_and_bad_values_are_judged_alike(embedded: Environment, real: Environment) -> None:
    """Not only is the same refused: the paths, the reasons and the messages are the same."""
    assert await refusals(embedded) == await refusals(real)


async def test_the_server_fills_in_prunes_and_keeps_what_the_markers_say(env: Environment) -> None:
    await env.install(*ZOO)
    namespace = await env.namespace()
    sent = specimen(
        namespace,
        nullable=None,
        preserveUnknown={"name": "a", "extra": 1},
        structAtomic={"name": "a", "extra": 1},
        raw={"kept": True},
        schemaless={"whatever": [1]},
        template={"metadata": {"name": "x", "surplus": "y"}},
    )
    spec = (await env.client.create(sent))["spec"]
    assert spec["default"] == 7 and spec["defaultObject"] == {"a": "b"}
    assert spec["nullable"] is None
    assert spec["preserveUnknown"] == {"name": "a", "extra": 1}
    assert spec["structAtomic"] == {"name": "a"}
    assert spec["raw"] == {"kept": True}
    assert spec["schemaless"] == {"whatever": [1]}


async def test_an_immutable_field_is_neither_changed_nor_taken_away(env: Environment) -> None:
    await env.install(*ZOO)
    namespace = await env.namespace()
    created = await env.client.create(specimen(namespace, immutable="first"))
    with pytest.raises(Invalid, match="field is immutable") as changed:
        await env.client.patch(created, Patch.merge({"spec": {"immutable": "second"}}))
    assert changed.value.status.details is not None
    assert [cause.field for cause in changed.value.status.details.causes] == ["spec.immutable"]
    with pytest.raises(Invalid, match="immutable once set"):
        await env.client.patch(created, Patch.merge({"spec": {"immutable": None}}))
    await env.client.patch(created, Patch.merge({"spec": {"minimum": 3}}))


async def test_subresources_columns_and_selectable_fields_are_served(env: Environment) -> None:
    await env.install(*ZOO)
    namespace = await env.namespace()
    created = await env.client.create(specimen(namespace, replicas=3, selectable="this"))
    await env.client.create(specimen(namespace, selectable="that"))
    found = await env.client.list(SPECIMEN, namespace, fields={"spec.selectable": "this"})
    assert [item["metadata"]["name"] for item in found] == [created["metadata"]["name"]]
    await env.client.scale(created, replicas=5)
    scaled = await env.client.get(SPECIMEN, created["metadata"]["name"], namespace)
    assert scaled["spec"]["replicas"] == 5
    table = await env.client.request(
        "GET",
        f"/apis/{GROUP}/v1/namespaces/{namespace}/specimens",
        accept="application/json;as=Table;g=meta.k8s.io;v=v1",
    )
    assert [column["name"] for column in json.loads(table)["columnDefinitions"]] == ["Name", "Replicas", "Age"]
