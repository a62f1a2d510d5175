"""CRDs from types: one type per marker, and what cannot be expressed is refused with its path."""

import enum
from datetime import datetime
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, field

from kapstan.generate.crd import crd_of, crds_of, file_name
from kapstan.generate.manifest import manifest
from kapstan.generate.schema import SchemaError, schema_of, type_schema
from kapstan.machinery.markers import (
    CEL,
    Default,
    Embedded,
    Format,
    Immutable,
    ListMap,
    ListSet,
    MapAtomic,
    MinProperties,
    Nullable,
    Optional,
    PreserveUnknown,
    Required,
    Schemaless,
)
from kapstan.machinery.meta import Condition, Duration, Int32, Int64, IntOrString, ObjectMeta, Quantity
from kapstan.machinery.model import Column, Model, Resource, Scale
from kapstan.machinery.rules import at_most_one_of, cel, exactly_one_of, schema_keywords
from kapstan.machinery.scheme import resource


class Colour(enum.StrEnum):
    RED = "Red"
    BLUE = "Blue"


class Port(Model):
    """A port to listen on."""

    name: Annotated[str, Meta(min_length=1, max_length=15)]
    number: Annotated[Int32, Meta(ge=1, le=65535)]
    """Where to listen.
    Must be free.
    """


INTEGER = {"type": "integer"}
STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        pytest.param(str, STRING, id="string"),
        pytest.param(int, INTEGER, id="integer"),
        pytest.param(bool, {"type": "boolean"}, id="boolean"),
        pytest.param(str | None, STRING, id="absent is no type"),
        pytest.param(Int32, {"type": "integer", "format": "int32"}, id="int32"),
        pytest.param(Int64, {"type": "integer", "format": "int64"}, id="int64"),
        pytest.param(bytes, {"type": "string", "format": "byte"}, id="bytes"),
        pytest.param(datetime, {"type": "string", "format": "date-time"}, id="time"),
        pytest.param(Duration, STRING, id="duration"),
        pytest.param(list[str], {"type": "array", "items": STRING}, id="list"),
        pytest.param(dict[str, int], {"type": "object", "additionalProperties": INTEGER}, id="map"),
        pytest.param(dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, id="raw object"),
        pytest.param(Any, {"x-kubernetes-preserve-unknown-fields": True}, id="raw JSON"),
        pytest.param(ObjectMeta, {"type": "object"}, id="embedded metadata"),
        pytest.param(Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, id="literal"),
        pytest.param(Colour, {"type": "string", "enum": ["Red", "Blue"]}, id="enumeration"),
        pytest.param(
            IntOrString,
            {"anyOf": [INTEGER, STRING], "x-kubernetes-int-or-string": True},
            id="int or string",
        ),
        pytest.param(
            Annotated[int, Meta(ge=1, lt=5)],
            {"type": "integer", "minimum": 1, "maximum": 5, "exclusiveMaximum": True},
            id="bounds",
        ),
        pytest.param(Annotated[int, Meta(multiple_of=2)], {"type": "integer", "multipleOf": 2}, id="multiple"),
        pytest.param(
            Annotated[str, Meta(pattern="^a+$", min_length=1)],
            {"type": "string", "pattern": "^a+$", "minLength": 1},
            id="pattern",
        ),
        pytest.param(
            Annotated[list[str], Meta(max_length=3)],
            {"type": "array", "items": STRING, "maxItems": 3},
            id="items bound",
        ),
        pytest.param(
            Annotated[dict[str, str], Meta(min_length=1)],
            {"type": "object", "additionalProperties": STRING, "minProperties": 1},
            id="properties bound",
        ),
        pytest.param(Annotated[str, Format("ipv4")], {"type": "string", "format": "ipv4"}, id="format"),
        pytest.param(Annotated[int, Default(3)] | None, {"type": "integer", "default": 3}, id="default"),
        pytest.param(Annotated[str | None, Nullable()], {"type": "string", "nullable": True}, id="nullable"),
        pytest.param(
            Annotated[list[str], ListSet()],
            {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
            id="set",
        ),
        pytest.param(
            Annotated[dict[str, str], MapAtomic()],
            {"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"},
            id="atomic map",
        ),
        pytest.param(
            Annotated[str, Immutable()],
            {
                "type": "string",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "field is immutable"}],
            },
            id="immutable",
        ),
        pytest.param(
            Annotated[str, CEL("self != ''", reason="FieldValueInvalid")],
            {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''", "reason": "FieldValueInvalid"}]},
            id="rule",
        ),
        pytest.param(
            Annotated[dict[str, Any], Embedded()],
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-embedded-resource": True},
            id="embedded",
        ),
        pytest.param(Annotated[Any, Schemaless({"type": "integer"})], INTEGER, id="schemaless"),
    ],
)
def test_a_hint_has_its_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint, "x") == schema


def test_a_quantity_is_a_number_or_a_string_with_kubernetes_pattern() -> None:
    schema = schema_of(Quantity, "x")
    assert schema["x-kubernetes-int-or-string"] is True
    assert schema["pattern"].endswith("?$")


def test_fields_are_described_by_the_text_below_them() -> None:
    schema = type_schema(Port)
    assert schema["description"] == "A port to listen on."
    assert schema["properties"]["number"]["description"] == "Where to listen. Must be free."
    assert schema["required"] == ["name", "number"]
    assert "description" not in type_schema(Port, descriptions=False)


def test_required_and_optional_can_be_said_against_the_python_default() -> None:
    class Both(Model):
        a: Annotated[str, Required()] = ""
        b: Annotated[int, Optional()]

    assert type_schema(Both)["required"] == ["a"]


def test_rules_of_a_type_come_in_the_order_they_are_written() -> None:
    @cel("self.a != self.b", message="they differ")
    @exactly_one_of("a", "b")
    @at_most_one_of("c")
    @schema_keywords(minProperties=1)
    class Choice(Model):
        a: str | None = None
        b: str | None = None
        c: Annotated[dict[str, str], MinProperties(1), PreserveUnknown()] = field(default_factory=dict)

    schema = type_schema(Choice)
    assert [rule["rule"] for rule in schema["x-kubernetes-validations"]] == [
        "self.a != self.b",
        "[has(self.a),has(self.b)].filter(x,x==true).size() == 1",
        "[has(self.c)].filter(x,x==true).size() <= 1",
    ]
    assert schema["minProperties"] == 1
    assert schema["properties"]["c"]["minProperties"] == 1


class Loop(Model):
    again: "Loop | None" = None


class Bad(Model):
    ratio: float


class Deep(Model):
    bads: list[Bad]


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        pytest.param(Loop, r"^x\.again: Loop contains itself", id="recursive"),
        pytest.param(Deep, r"^x\.bads\[\]\.ratio: floats differ", id="float"),
        pytest.param(int | str, "cannot express", id="union"),
        pytest.param(dict[int, str], "keys of a map are strings", id="integer keys"),
        pytest.param(Annotated[str, Meta(pattern="(?=a)")], "no look-around", id="look-around"),
        pytest.param(Literal["a", 1], "all strings or all integers", id="mixed enumeration"),
        pytest.param(object.__class__, "not an API type", id="foreign class"),
    ],
)
def test_what_no_crd_can_express_is_refused_with_its_path(hint: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        schema_of(hint, "x")


class ServerSpec(Model):
    ports: Annotated[list[Port], ListMap("name")] = field(default_factory=list)
    replicas: Int32 | None = None


class ServerStatus(Model):
    replicas: Int32 | None = None
    conditions: Annotated[list[Condition], ListMap("type")] = field(default_factory=list)


@resource(
    group="test.kapstan.dev",
    version="v1",
    short_names=["srv"],
    categories=["all"],
    labels={"b": "2", "a": "1"},
    scale=Scale(),
    columns=[Column("Replicas", ".status.replicas", "integer", priority=1), Column.age()],
    selectable=[".spec.replicas"],
)
class Server(Resource):
    """A server."""

    spec: ServerSpec
    status: ServerStatus = field(default_factory=ServerStatus)


def old_server(**options: Any) -> type[Resource]:
    @resource(group="test.kapstan.dev", version="v1beta1", **options)
    class Server(Resource):
        spec: ServerSpec

    return Server


def test_a_definition_says_everything_that_was_declared() -> None:
    definition = crd_of(Server)
    spec = definition["spec"]
    assert definition["metadata"] == {"name": "servers.test.kapstan.dev", "labels": {"a": "1", "b": "2"}}
    assert spec["names"] == {
        "kind": "Server", "listKind": "ServerList", "plural": "servers", "singular": "server",
        "shortNames": ["srv"], "categories": ["all"],
    }  # fmt: skip
    (version,) = spec["versions"]
    assert version["subresources"]["scale"]["specReplicasPath"] == ".spec.replicas"
    assert version["subresources"]["status"] == {}
    assert version["additionalPrinterColumns"][0]["priority"] == 1
    assert version["selectableFields"] == [{"jsonPath": ".spec.replicas"}]
    root = version["schema"]["openAPIV3Schema"]
    assert root["required"] == ["spec"]
    assert root["properties"]["metadata"] == {"type": "object"}
    assert file_name(definition) == "test.kapstan.dev_servers.yaml"


def test_versions_go_together_with_one_that_is_stored() -> None:
    definition = crds_of([Server, old_server(storage=False, deprecated="use v1")])[0]
    versions = definition["spec"]["versions"]
    assert [(version["name"], version["storage"]) for version in versions] == [("v1", True), ("v1beta1", False)]
    assert versions[1]["deprecationWarning"] == "use v1"


def test_two_storage_versions_are_refused() -> None:
    with pytest.raises(ValueError, match="exactly one of its versions"):
        crd_of(Server, old_server())
    with pytest.raises(ValueError, match="differ in plural or scope"):
        crd_of(Server, old_server(storage=False, scope="Cluster"))


def test_the_text_is_the_same_every_time_and_sorted() -> None:
    text = manifest(crd_of(Server))
    assert text == manifest(crd_of(Server))
    assert text.startswith("---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n")
    assert "&id" not in text
