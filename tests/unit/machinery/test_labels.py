"""Label selectors: grammar, matching, canonical text."""

from collections.abc import Mapping
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.machinery import labels
from kapstan.machinery.labels import EVERYTHING, NOTHING, InvalidSelector, Operator, Requirement, Selector


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("app=web", "app=web"),
        ("app==web", "app==web"),
        (" b = x , a != y ", "a!=y,b=x"),
        ("app", "app"),
        ("!app", "!app"),
        ("! app", "!app"),
        ("tier in (b,a)", "tier in (a,b)"),
        ("tier notin(a)", "tier notin (a)"),
        ("tier in ()", "tier in ()"),
        ("tier in (,a)", "tier in (,a)"),
        ("tier in (a,,b)", "tier in (,a,b)"),
        ("app=", "app="),
        ("app=,b", "app=,b"),
        ("n>1,m<2", "m<2,n>1"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("example.com/a.b_c=X", "example.com/a.b_c=X"),
    ],
)
def test_selectors_parse_and_are_written_canonically(text: str, canonical: str) -> None:
    selector = labels.parse(text)
    assert str(selector) == canonical
    assert labels.parse(canonical) == selector


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,=", "found '=', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a==!", "unable to parse requirement: found '!', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        (
            "n>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be "
            "an integer",
        ),
        (
            "a=-",
            'unable to parse requirement: values[0][a]: Invalid value: "-": a valid label must be an empty string or '
            "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
    ],
)
def test_errors_are_worded_as_kubernetes_words_them(text: str, message: str) -> None:
    with pytest.raises(InvalidSelector) as caught:
        labels.parse(text)
    assert str(caught.value) == message


def test_a_bad_key_is_explained() -> None:
    with pytest.raises(
        InvalidSelector, match=r'unable to parse requirement: <nil>: Invalid value: "-a": name part must'
    ):
        labels.parse("-a=b")


@pytest.mark.parametrize(
    ("text", "object_labels", "selected"),
    [
        ("", {}, True),
        ("a=1", {"a": "1"}, True),
        ("a=1", {"a": "2"}, False),
        ("a=1", {}, False),
        ("a=", {}, False),
        ("a=", {"a": ""}, True),
        ("a!=1", {}, True),
        ("a!=1", {"a": "1"}, False),
        ("a in (1,2)", {"a": "2"}, True),
        ("a in (1,2)", {}, False),
        ("a notin (1,2)", {}, True),
        ("a notin (1,2)", {"a": "1"}, False),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": ""}, False),
        ("a>1", {"a": "2"}, True),
        ("a>1", {"a": "1"}, False),
        ("a>1", {"a": "x"}, False),
        ("a>1", {}, False),
        ("a<1", {"a": "-5"}, True),
        ("a<1", {"a": "99999999999999999999"}, False),
        ("a=1,b=2", {"a": "1", "b": "2", "c": "3"}, True),
        ("a=1,b=2", {"a": "1"}, False),
    ],
)
def test_matching(text: str, object_labels: dict[str, str], selected: bool) -> None:
    assert labels.parse(text).matches(object_labels) is selected


def test_an_object_without_labels_has_none() -> None:
    assert labels.parse("!a").matches(None)


def test_absent_and_empty_label_selectors_are_opposites() -> None:
    assert labels.from_label_selector(None) is NOTHING
    assert not NOTHING.matches({"a": "1"}) and not NOTHING.empty
    assert labels.from_label_selector({}) == EVERYTHING
    assert EVERYTHING.matches({}) and EVERYTHING.empty
    assert NOTHING != EVERYTHING


def test_label_selectors_come_as_documents_and_as_objects() -> None:
    document = {
        "matchLabels": {"b": "1"},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]},
            {"key": "c", "operator": "NotIn", "values": ["z"]},
            {"key": "d", "operator": "Exists"},
            {"key": "e", "operator": "DoesNotExist"},
        ],
    }
    objects = SimpleNamespace(
        match_labels={"b": "1"},
        match_expressions=[
            SimpleNamespace(key=e["key"], operator=e["operator"], values=e.get("values"))
            for e in document["matchExpressions"]
            if isinstance(e, Mapping)
        ],
    )
    selector = labels.from_label_selector(document)
    assert str(selector) == "a in (x,y),b=1,c notin (z),d,!e"
    assert labels.from_label_selector(objects) == selector


def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(InvalidSelector, match=r'^"Gt" is not a valid label selector operator$'):
        labels.from_label_selector({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]})


@pytest.mark.parametrize(
    ("operator", "values", "message"),
    [
        (Operator.IN, [], "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
        (Operator.EQUALS, [], "values: Invalid value: []: exact-match compatibility requires one single value"),
        (
            Operator.EXISTS,
            ["a"],
            'values: Invalid value: ["a"]: values set must be empty for exists and does not exist',
        ),
        (
            Operator.LESS_THAN,
            [],
            "values: Invalid value: []: for 'Gt', 'Lt' operators, exactly one value is required",
        ),
    ],
)
def test_requirements_need_the_right_number_of_values(operator: Operator, values: list[str], message: str) -> None:
    with pytest.raises(InvalidSelector) as caught:
        Requirement("a", operator, values)
    assert str(caught.value) == message


def test_the_value_that_a_label_must_have() -> None:
    selector = labels.parse("a=1,b in (2),c in (3,4),d!=5")
    assert [selector.exact_match(key) for key in "abcdx"] == ["1", "2", None, None, None]


def test_labels_become_a_selector() -> None:
    assert str(labels.from_labels({"b": "2", "a": "1"})) == "a=1,b=2"
    assert len({labels.from_labels({"a": "1"}), labels.parse("a=1"), labels.parse("a==1")}) == 2


names = st.from_regex(r"[a-z]{1,5}", fullmatch=True)
requirements = st.one_of(
    st.builds(Requirement, names, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
    st.builds(
        Requirement, names, st.sampled_from([Operator.IN, Operator.NOT_IN]), st.lists(names, min_size=1, unique=True)
    ),
    st.builds(
        lambda key, operator, value: Requirement(key, operator, [value]),
        names,
        st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS, Operator.DOUBLE_EQUALS]),
        names,
    ),
)


@given(st.lists(requirements, max_size=4), st.dictionaries(names, names))
def test_a_selector_means_the_same_after_it_was_written_and_read(
    parts: list[Requirement], object_labels: dict[str, str]
) -> None:
    selector = Selector(parts)
    again = labels.parse(str(selector))
    assert str(again) == str(selector)
    assert again.matches(object_labels) == selector.matches(object_labels)


@given(st.text("ab=!(),<> \tin", max_size=12))
def test_any_text_is_a_selector_or_is_refused(text: str) -> None:
    try:
        selector = labels.parse(text)
    except InvalidSelector as error:
        assert str(error)  # noqa: PT017 - both outcomes are right
    else:
        assert labels.parse(str(selector)).matches({"a": "b"}) == selector.matches({"a": "b"})
