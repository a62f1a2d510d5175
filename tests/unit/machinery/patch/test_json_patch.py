"""JSON patch, with the results and texts of kube-apiserver."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kapstan.machinery.errors import BadRequest, Invalid, RequestEntityTooLarge
from kapstan.machinery.patch import apply_json_patch

DOCUMENT: dict[str, Any] = {"a": {"b": [1, 2, 3], "x/y": 1, "t~": None}, "s": "text"}


def patched(*operations: dict[str, Any]) -> Any:
    """The document after the operations, which must not have been changed itself."""
    before = copy.deepcopy(DOCUMENT)
    try:
        return apply_json_patch(DOCUMENT, operations)
    finally:
        assert before == DOCUMENT


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/a/b/-", "value": 4}, [1, 2, 3, 4]),
        ({"op": "add", "path": "/a/b/0", "value": 0}, [0, 1, 2, 3]),
        ({"op": "add", "path": "/a/b/3", "value": 4}, [1, 2, 3, 4]),
        ({"op": "add", "path": "/a/b/-1", "value": 4}, [1, 2, 3, 4]),
        ({"op": "add", "path": "/a/b", "value": {"c": 1}}, {"c": 1}),
        ({"op": "add", "path": "/a/b"}, None),
        ({"op": "remove", "path": "/a/b/1"}, [1, 3]),
        ({"op": "remove", "path": "/a/b/-1"}, [1, 2]),
        ({"op": "replace", "path": "/a/b/2", "value": True}, [1, 2, True]),
        ({"op": "move", "path": "/a/b/0", "from": "/a/b/2"}, [3, 1, 2]),
        ({"op": "copy", "path": "/a/b/0", "from": "/a/b"}, [[1, 2, 3], 1, 2, 3]),
        ({"op": "copy", "path": "/a/b/-", "from": "/nowhere"}, [1, 2, 3, None]),
        ({"op": "test", "path": "/a/b", "value": [1, 2, 3]}, [1, 2, 3]),
    ],
)
def test_operations_change_what_their_pointer_names(operation: dict[str, Any], expected: Any) -> None:
    assert patched(operation)["a"]["b"] == expected


def test_pointers_escape_slash_and_tilde() -> None:
    result = patched({"op": "replace", "path": "/a/x~1y", "value": 2}, {"op": "replace", "path": "/a/t~0", "value": 3})
    assert result["a"]["x/y"] == 2
    assert result["a"]["t~"] == 3


def test_replace_of_a_missing_field_adds_it() -> None:
    assert patched({"op": "replace", "path": "/new", "value": 1})["new"] == 1


def test_replace_of_the_whole_document() -> None:
    assert patched({"op": "replace", "path": "", "value": {"k": 1}}) == {"k": 1}


def test_an_absent_field_tests_as_null() -> None:
    assert patched({"op": "test", "path": "/absent", "value": None}) == DOCUMENT


def test_a_copy_and_its_source_change_independently() -> None:
    """Also where the copy lands inside of its source."""
    result = patched(
        {"op": "add", "path": "/a/b/-", "value": 4},
        {"op": "copy", "path": "/a/inner", "from": "/a"},
        {"op": "add", "path": "/a/inner/b/0", "value": "inner"},
        {"op": "add", "path": "/a/b/0", "value": "outer"},
    )
    assert result["a"]["b"] == ["outer", 1, 2, 3, 4]
    assert result["a"]["inner"]["b"] == ["inner", 1, 2, 3, 4]


def test_values_of_the_patch_are_not_changed_by_later_operations() -> None:
    value: dict[str, Any] = {"list": []}
    result = patched({"op": "add", "path": "/v", "value": value}, {"op": "add", "path": "/v/list/-", "value": 1})
    assert result["v"] == {"list": [1]}
    assert value == {"list": []}


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            {"op": "add", "path": "/n/x", "value": 1},
            'add operation does not apply: doc is missing path: "/n/x": missing value',
        ),
        ({"op": "add", "path": "", "value": 1}, 'add operation does not apply: doc is missing path: "": missing value'),
        (
            {"op": "add", "path": "/s/x", "value": 1},
            'add operation does not apply: doc is missing path: "/s/x": missing value',
        ),
        (
            {"op": "add", "path": "/a/b/5", "value": 1},
            "error in add for path: '/a/b/5': Unable to access invalid index: 5: invalid index referenced",
        ),
        (
            {"op": "add", "path": "/a/b/x", "value": 1},
            "error in add for path: '/a/b/x': value was not a proper array index: 'x': "
            'strconv.Atoi: parsing "x": invalid syntax',
        ),
        ({"op": "add", "value": 1}, "add operation failed to decode path: missing value"),
        (
            {"op": "remove", "path": "/x"},
            "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            {"op": "remove", "path": "/x/y"},
            'remove operation does not apply: doc is missing path: "/x/y": missing value',
        ),
        (
            {"op": "replace", "path": "/a/b/3", "value": 1},
            "replace operation does not apply: doc is missing key: /a/b/3: missing value",
        ),
        (
            {"op": "replace", "path": "/x/y", "value": 1},
            "replace operation does not apply: doc is missing path: /x/y: missing value",
        ),
        ({"op": "replace", "path": "", "value": 1}, "replace operation value must be object or array"),
        (
            {"op": "replace", "value": 1},
            "replace operation failed to decode path: operation missing path field: missing value",
        ),
        (
            {"op": "move", "path": "/y", "from": "/x"},
            "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            {"op": "move", "path": "/x"},
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            {"op": "copy", "path": "/x/y", "from": "/a"},
            "copy operation does not apply: doc is missing destination path: /x/y: missing value",
        ),
        ({"op": "test", "path": "/s", "value": "other"}, "testing value /s failed: test failed"),
        ({"op": "test", "path": "/a/b/0", "value": True}, "testing value /a/b/0 failed: test failed"),
        ({"op": "test", "path": "/a/b/0", "value": 1.0}, "testing value /a/b/0 failed: test failed"),
        (
            {"op": "test", "path": "/x/y", "value": 1},
            "test operation does not apply: is missing path: /x/y: missing value",
        ),
        ({"op": "frobnicate", "path": "/a"}, "Unexpected kind: frobnicate"),
        ({"path": "/a"}, "Unexpected kind: unknown"),
    ],
)
def test_an_operation_that_does_not_apply_says_why(operation: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid) as caught:
        patched(operation)
    assert str(caught.value) == message


def test_a_patch_of_too_many_operations_is_refused() -> None:
    with pytest.raises(RequestEntityTooLarge, match=r"is 10000, got 10001"):
        patched(*[{"op": "test", "path": "/s", "value": "text"}] * 10_001)


def test_copies_of_copies_are_limited() -> None:
    """Each operation doubles what is there: without a limit, forty of them fill any memory."""
    doubling = [{"op": "copy", "path": "/a/b/-", "from": "/a/b"}] * 40
    with pytest.raises(Invalid, match=r"exceeding the limit 3145728"):
        patched(*doubling)


@pytest.mark.parametrize("patch", [{}, "text", [1]])
def test_what_is_no_list_of_operations_is_a_bad_request(patch: Any) -> None:
    with pytest.raises(BadRequest):
        apply_json_patch(DOCUMENT, patch)
