"""JSONPath, in the dialect of printer columns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.apiserver.crd.jsonpath import compile_path, printed

OBJECT: dict[str, Any] = {
    "spec": {"replicas": 3, "a.b": "dotted", "list": [1, 2, 3], "nested": [{"n": 1}, {"n": 2}]},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "weight": 1},
            {"type": "Healthy", "status": "False", "weight": 2},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        (".spec.missing.more", []),
        (".spec['a.b']", ["dotted"]),
        ('.spec["a.b"]', ["dotted"]),
        (r".spec.a\.b", ["dotted"]),
        (".spec.list[0]", [1]),
        (".spec.list[-1]", [3]),
        (".spec.list[9]", []),
        (".spec.list[0:2]", [1, 2]),
        (".spec.list[1:]", [2, 3]),
        (".spec.list[::2]", [1, 3]),
        (".spec.list[0,2]", [1, 3]),
        (".spec.list[*]", [1, 2, 3]),
        (".spec.nested[*].n", [1, 2]),
        (".spec.*", [3, "dotted", [1, 2, 3], [{"n": 1}, {"n": 2}]]),
        ("..n", [1, 2]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Nope')].status", []),
        (".status.conditions[?(@.type != 'Ready')].status", ["False"]),
        (".status.conditions[?(@.weight > 1)].type", ["Healthy"]),
        (".status.conditions[?(@.weight)].type", ["Ready", "Healthy"]),
        (".status.conditions[?(@.nothing)].type", []),
        (".", [OBJECT]),
    ],
)
def test_paths(path: str, found: list[Any]) -> None:
    assert compile_path(path).find(OBJECT) == found


@pytest.mark.parametrize("path", ["spec", ".spec[", ".spec[]", ".spec[x]", ".a[?(@.b==c)]", ".a[?(@.b]", ".a b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError):
        compile_path(path)


@given(st.text(alphabet=".[]*?()@'\"=!<>\\ab01:,- ", max_size=30), st.sampled_from([OBJECT, [], "x", None, 7]))
def test_nothing_else_can_happen(path: str, value: Any) -> None:
    try:
        compile_path(path).find(value)
    except ValueError:
        pass


@pytest.mark.parametrize(("value", "text"), [("x", "x"), (3, "3"), (True, "true"), ([1, "a"], '[1,"a"]'), ({}, "{}")])
def test_values_as_text(value: Any, text: str) -> None:
    assert printed(value) == text
