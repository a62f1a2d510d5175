"""Field selectors: grammar, escapes, matching."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.machinery import fields
from kapstan.machinery.fields import InvalidSelector, Requirement, Selector


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (",", ""),
        ("metadata.name=web", "metadata.name=web"),
        ("metadata.name==web", "metadata.name=web"),
        ("b!=1,a=2", "a=2,b!=1"),
        ("a=", "a="),
        (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
        ("=x", "=x"),
        ("=", ""),
    ],
)
def test_selectors_parse_and_are_written_canonically(text: str, canonical: str) -> None:
    selector = fields.parse(text)
    assert str(selector) == canonical
    assert fields.parse(canonical) == selector


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("b=1,a", "invalid selector: 'b=1,a'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\b", r"invalid field selector: invalid escape sequence: \b"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_errors_are_worded_as_kubernetes_words_them(text: str, message: str) -> None:
    with pytest.raises(InvalidSelector) as caught:
        fields.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("name=a", True),
        ("name=b", False),
        ("name!=b", True),
        ("name!=a", False),
        ("other=", True),
        ("other!=", False),
        ("name=a,phase=Running", True),
        ("name=a,phase!=Running", False),
    ],
)
def test_matching(text: str, selected: bool) -> None:
    assert fields.parse(text).matches({"name": "a", "phase": "Running"}) is selected


def test_the_value_that_a_field_must_have() -> None:
    selector = fields.parse("a=1,b!=2")
    assert [selector.exact_match(field) for field in "abc"] == ["1", None, None]
    assert not selector.empty and fields.EVERYTHING.empty


@given(st.lists(st.builds(Requirement, st.from_regex(r"[a-z.]{1,5}", fullmatch=True), st.text(), st.booleans())))
def test_any_value_survives_writing_and_reading(requirements: list[Requirement]) -> None:
    selector = Selector(requirements)
    assert set(fields.parse(str(selector)).requirements) == set(requirements)


@given(st.text("ab=!\\,", max_size=10))
def test_any_text_is_a_selector_or_is_refused(text: str) -> None:
    try:
        selector = fields.parse(text)
    except InvalidSelector as error:
        assert str(error).startswith("invalid ")  # noqa: PT017 - both outcomes are right
    else:
        assert set(fields.parse(str(selector)).requirements) == set(selector.requirements)
