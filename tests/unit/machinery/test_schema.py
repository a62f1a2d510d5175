"""Schema nodes: references, overlays and recursion compile into one graph."""

import pytest

from kapstan.machinery.schema import Definitions, Schema, compile_schema

DEFINITIONS = Definitions(
    {
        "Tree": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {
                    "type": "array",
                    "items": {"allOf": [{"$ref": "#/components/schemas/Tree"}], "default": {}},
                },
            },
        },
        "Labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }
)


def test_a_recursive_definition_compiles_to_a_cycle() -> None:
    tree = DEFINITIONS.schema("Tree")
    item = tree.properties["children"].items
    assert item is not None
    assert item.has_default
    assert not tree.has_default
    assert item.properties is tree.properties


def test_keywords_beside_a_reference_take_precedence() -> None:
    node = compile_schema(
        {"allOf": [{"$ref": "#/components/schemas/Labels"}], "x-kubernetes-map-type": "atomic"}, DEFINITIONS
    )
    assert node.map_type == "atomic"
    assert DEFINITIONS.schema("Labels").map_type == ""
    value = node.property("anything")
    assert isinstance(value, Schema)
    assert value.type == "string"


def test_a_reference_without_definitions_is_refused() -> None:
    with pytest.raises(ValueError, match="no definitions"):
        compile_schema({"$ref": "#/components/schemas/Tree"})
    with pytest.raises(ValueError, match="does not point into"):
        compile_schema({"$ref": "elsewhere"}, DEFINITIONS)
