"""Field errors: paths, messages, causes."""

from typing import Any

import pytest

from kapstan.machinery.validation import OMITTED, ErrorType, FieldError, Path, aggregate, causes

SIZE = Path("spec", "size")


def test_paths_name_fields_items_and_keys() -> None:
    path = Path("spec").child("ports").index(0).child("labels", "app").key("a/b")
    assert str(path) == "spec.ports[0].labels.app[a/b]"
    assert path == Path("spec.ports[0].labels.app[a/b]")
    assert len({path, Path("spec.ports[0].labels.app[a/b]")}) == 1


def test_the_object_itself_has_no_name() -> None:
    assert str(Path()) == "<nil>"
    assert str(Path().child("spec")) == "spec"
    assert str(Path().key("a")) == "[a]"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            FieldError.invalid(SIZE, 11, "spec.size in body should be less than or equal to 10"),
            "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10",
        ),
        (FieldError.invalid(SIZE, "a<", "no"), 'spec.size: Invalid value: "a<": no'),
        (FieldError.invalid(SIZE, 1e6, "no"), "spec.size: Invalid value: 1e+06: no"),
        (FieldError.invalid(SIZE, True, "no"), "spec.size: Invalid value: true: no"),
        (FieldError.invalid(SIZE, None, "no"), "spec.size: Invalid value: null: no"),
        (FieldError.invalid(SIZE, OMITTED, "no"), "spec.size: Invalid value: no"),
        (FieldError.invalid(SIZE, {"b": "<", "a": []}, "no"), 'spec.size: Invalid value: {"a":[],"b":"\\u003c"}: no'),
        (FieldError.type_invalid(SIZE, "string", "must be int"), 'spec.size: Invalid value: "string": must be int'),
        (FieldError.required(SIZE), "spec.size: Required value"),
        (FieldError.required(SIZE, "it matters"), "spec.size: Required value: it matters"),
        (FieldError.forbidden(SIZE, "not here"), "spec.size: Forbidden: not here"),
        (FieldError.duplicate(SIZE, {"name": "a"}), 'spec.size: Duplicate value: {"name":"a"}'),
        (FieldError.not_found(SIZE, "a"), 'spec.size: Not found: "a"'),
        (
            FieldError.not_supported(SIZE, "x", ["a", "b"]),
            'spec.size: Unsupported value: "x": supported values: "a", "b"',
        ),
        (FieldError.not_supported(SIZE, "x", []), 'spec.size: Unsupported value: "x"'),
        (FieldError.too_long(SIZE, 5), "spec.size: Too long: may not be more than 5 bytes"),
        (FieldError.too_long(SIZE, 1), "spec.size: Too long: may not be more than 1 byte"),
        (FieldError.too_long(SIZE, -1), "spec.size: Too long: value is too long"),
        (FieldError.too_many(SIZE, 3, 2), "spec.size: Too many: 3: must have at most 2 items"),
        (FieldError.too_many(SIZE, 2, 1), "spec.size: Too many: 2: must have at most 1 item"),
        (FieldError.too_many(SIZE, -1, -1), "spec.size: Too many: has too many items"),
        (FieldError.internal(SIZE, "boom"), "spec.size: Internal error: boom"),
    ],
)
def test_messages_are_kubernetes_own(error: FieldError, message: str) -> None:
    assert str(error) == message


def test_a_cause_carries_reason_message_and_field() -> None:
    error = FieldError.required(SIZE, "it matters")
    expected: dict[str, Any] = {
        "reason": "FieldValueRequired",
        "message": "Required value: it matters",
        "field": "spec.size",
    }
    assert causes([error]) == [expected]
    assert FieldError.type_invalid(SIZE, 1, "no").type == "FieldValueTypeInvalid"
    assert error.type is ErrorType.REQUIRED


def test_errors_with_the_same_words_are_equal() -> None:
    assert FieldError.required(SIZE) == FieldError.required("spec.size")
    assert len({FieldError.required(SIZE), FieldError.required(SIZE)}) == 1
    assert FieldError.invalid(SIZE, 1, "no") != FieldError.type_invalid(SIZE, 1, "no")


def test_many_errors_make_one_line_without_repeats() -> None:
    one, two = FieldError.required("a"), FieldError.required("b")
    assert aggregate([one]) == "a: Required value"
    assert aggregate([one, two, one]) == "[a: Required value, b: Required value]"
