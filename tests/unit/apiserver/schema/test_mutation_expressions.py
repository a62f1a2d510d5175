"""Expressions of mutations: objects and operations of patches that they make."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.environment import Environment
from kapstan.apiserver.schema.cel.library.mutation import Operation, misplaced, native
from kapstan.apiserver.schema.cel.source import CompileError

ENVIRONMENT = Environment({"object": types.DYN}, patches=True)


def evaluated(expression: str, obj: Any = None) -> Any:
    return ENVIRONMENT.compile(expression).eval({"object": obj})


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("Object{}", {}),
        ("Object{spec: Object.spec{replicas: 3}}", {"spec": {"replicas": 3}}),
        ("Object{a: [Object.a{b: 'x'}], ?c: optional.none(), ?d: optional.of(1)}", {"a": [{"b": "x"}], "d": 1}),
        (
            "Object{labels: {'a': object.name}, none: null, data: b'hi'}",
            {"labels": {"a": "n"}, "none": None, "data": "aGk="},
        ),
    ],
)
def test_objects_become_json(expression: str, expected: Any) -> None:
    assert native(evaluated(expression, {"name": "n"})) == expected


def test_objects_are_equal_by_place_and_fields() -> None:
    assert evaluated("Object.a{x: [1]} == Object.a{x: [1]}") is True
    assert evaluated("dyn(Object.a{x: 1}) == dyn(Object.b{x: 1})") is False


def test_keys_of_pointers_are_escaped() -> None:
    (operation,) = evaluated("[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('b/c~d'), value: 1}]")
    assert isinstance(operation, Operation)
    assert operation.fields == {"op": "add", "path": "/a/b~1c~0d", "value": 1}


def test_parts_must_stand_where_their_type_says() -> None:
    value = evaluated("Object{spec: Object.spec{selector: Object.spec.wrong{}, items: [Object.spec.items{}]}}")
    assert list(misplaced(value, "Object")) == [
        'unexpected type name "Object.spec.wrong", expected "Object.spec.selector", '
        "which matches field name path from root Object type"
    ]


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("JSONPatch{op: 1}", "1:13: expected type of field 'op' is 'string' but provided type is 'int'"),
        ("Something{}", "1:10: undeclared reference to 'Something' (in container '')"),
        ("int{}", "1:4: 'int' is not a message type"),
    ],
)
def test_what_cannot_be_made_is_refused(expression: str, complaint: str) -> None:
    with pytest.raises(CompileError, match=re.escape(complaint)):
        ENVIRONMENT.compile(expression)


def test_other_expressions_make_no_objects() -> None:
    with pytest.raises(CompileError, match="undeclared reference to 'Object'"):
        Environment({}).compile("Object{}")
