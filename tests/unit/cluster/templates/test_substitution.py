"""Variables in templates mean what they mean to clusterctl."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.cluster.templates.flavors import flavor, flavors
from kapstan.cluster.templates.rendering import documents_of
from kapstan.cluster.templates.substitution import Variable, substitute, variables_of
from kapstan.machinery.errors import ConfigError


@pytest.mark.parametrize(
    ("template", "values", "result"),
    [
        ("a: ${A}", {"A": "1"}, "a: 1"),
        ("a: ${A:=x}", {}, "a: x"),
        ("a: ${A:=x}", {"A": ""}, "a: x"),
        ("a: ${A:=x}", {"A": "y"}, "a: y"),
        ("a: ${A:-x}", {"A": ""}, "a: x"),
        ("a: ${A=x}", {"A": ""}, "a: "),
        ("a: ${A-x}", {}, "a: x"),
        ("a: ${A:=}", {}, "a: "),
        ("${A:=${B:=c}}", {}, "c"),
        ("${A:=${B}-d}", {"B": "b"}, "b-d"),
        ("$$A and $${A}", {}, "$A and ${A}"),
        ("costs 5$ or $x", {}, "costs 5$ or $x"),
        ('"${A:={"k": 1}}"', {}, '"{"k": 1}"'),
    ],
)
def test_variables_are_replaced(template: str, values: dict[str, str], result: str) -> None:
    assert substitute(template, values) == result


@given(st.dictionaries(st.from_regex(r"[A-Z_]{1,5}", fullmatch=True), st.text()))
def test_values_are_put_in_as_they_are(values: dict[str, str]) -> None:
    template = "|".join(f"${{{name}}}" for name in values)
    assert substitute(template, values) == "|".join(values.values())


@given(st.text().filter(lambda text: "$" not in text))
def test_text_without_variables_stays_as_it_is(text: str) -> None:
    assert substitute(text, {}) == text


def test_every_variable_without_a_value_is_named() -> None:
    with pytest.raises(ConfigError, match="no value for A, B: set it in the environment, or with --set"):
        substitute("${B} ${A} ${C:=c} ${A}", {})


@pytest.mark.parametrize("template", ["x\n${A^^}", "x\n${}", "x\n${1}", "x\n${A", "x\n${A:=${B}"])
def test_what_is_no_variable_is_refused_with_its_line(template: str) -> None:
    with pytest.raises(ConfigError, match="line 2 of the template"):
        substitute(template, {"A": "a", "B": "b"})


def test_variables_are_listed_with_their_defaults() -> None:
    assert variables_of("${B} ${A:=1} ${B:=${C}} ${A}") == [Variable("A", "1"), Variable("B", "${C}"), Variable("C")]


@pytest.mark.parametrize("name", flavors())
def test_every_flavor_gives_objects_of_one_cluster(name: str) -> None:
    found = documents_of(flavor(name), {"CLUSTER_NAME": "demo", "NAMESPACE": "team"})
    assert {one["metadata"]["namespace"] for one in found} == {"team"}
    assert "Cluster" in {one["kind"] for one in found}


def test_an_unknown_flavor_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match="there is no flavor 'x'; there are hosted, simulated"):
        flavor("x")


def test_a_template_that_gives_no_yaml_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"not give YAML with these values: line \d, column \d: ") as told:
        documents_of("a: [${A}", {"A": "1"})
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("", "the template is empty"),
        ("[1]", "expected an object, found list"),
        ("{apiVersion: v1, kind: A, metadata: x}", "document 1 of the template is no object: it has no metadata.name"),
        ("{apiVersion: v1, metadata: {name: 1}}", "it has no kind and no metadata.name"),
        ("{apiVersion: v1, kind: A, metadata: {name: a}}\n---\n{kind: [B]}", "document 2 of the template is no object"),
    ],
)
def test_a_template_that_gives_no_objects_is_refused(template: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        documents_of(template, {})
