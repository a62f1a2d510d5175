"""Random questions to us and to Kubernetes' own libraries: the answers are equal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.apiserver.exploring import examples
from tests.integration.programs import Oracle
from tests.unit.apiserver.schema.replies import comparable, reply
from tests.unit.apiserver.schema.strategies import Case, cases

from .expressions import BINDINGS, expressions

pytestmark = pytest.mark.real

many = examples(150)


def agree(oracle: Oracle, question: dict[str, Any]) -> None:
    assert reply(question) == comparable(oracle.ask(question))


@many
@given(case=cases(), status=st.booleans())
def test_objects_are_pruned_defaulted_and_validated_alike(oracle: Oracle, case: Case, status: bool) -> None:
    schema, new, old = case
    question: dict[str, Any] = {"op": "resource", "schema": schema, "object": new}
    if old is not None:
        question |= {"old": old, "status": status}
    agree(oracle, question)


@many
@given(text=expressions())
def test_expressions_are_checked_evaluated_and_estimated_alike(oracle: Oracle, text: str) -> None:
    question = {"op": "cel", "text": text, "object": BINDINGS}
    given, expected = reply(question), comparable(oracle.ask(question))
    if expected.get("error", "").startswith("internal error"):  # cel-go fails over an error that we report
        expected["error"] = given.get("error")
    assert given == expected


@many
@given(pattern=st.text("ab|*+?()[]^$.\\dwpL{}1,2-:i", max_size=8), text=st.text("ab1 -\n", max_size=6))
def test_regular_expressions_are_parsed_and_matched_alike(oracle: Oracle, pattern: str, text: str) -> None:
    agree(oracle, {"op": "regexp", "text": pattern, "value": text})


@many
@given(
    text=st.text("ab=!(),<> \tin1/.-", max_size=14),
    labels=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["a", "b", "", "1"])),
)
def test_label_selectors_are_parsed_and_matched_alike(oracle: Oracle, text: str, labels: dict[str, str]) -> None:
    agree(oracle, {"op": "labels", "text": text, "labels": labels})


@many
@given(
    text=st.text("ab=!\\,", max_size=10),
    labels=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["a", "b", "", "1"])),
)
def test_field_selectors_are_parsed_and_matched_alike(oracle: Oracle, text: str, labels: dict[str, str]) -> None:
    agree(oracle, {"op": "fields", "text": text, "labels": labels})


@many
@given(text=st.text("aA0-._/é%", max_size=9) | st.integers(60, 256).map(lambda size: "a" * size))
def test_names_are_judged_alike(oracle: Oracle, text: str) -> None:
    agree(oracle, {"op": "names", "text": text})


@many
@given(text=st.text(st.characters(max_codepoint=0x2FFF, exclude_categories=("Cs", "Cn"))))
def test_texts_are_quoted_alike(oracle: Oracle, text: str) -> None:
    agree(oracle, {"op": "quote", "text": text})


FORMATS = [
    ("date-time", "2019-Tt:Zz+.5"),
    ("date", "2019-0"),
    ("duration", "12.5hms n-w"),
    ("ipv4", "012.5:f"),
    ("ipv6", "01:.f%"),
    ("cidr", "012./:f"),
    ("mac", "0a:-."),
    ("hostname", "aA0-._é☃"),
    ("email", 'ab.@"<> ()\\é'),
    ("uri", "a:/?#[]@%2é ."),
    ("byte", "aB+/=-"),
]


@many
@given(data=st.data())
def test_formats_are_judged_alike(oracle: Oracle, data: st.DataObject) -> None:
    format, alphabet = data.draw(st.sampled_from(FORMATS))
    agree(oracle, {"op": "format", "text": format, "value": data.draw(st.text(alphabet, max_size=24))})
