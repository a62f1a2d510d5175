"""Names of new machines."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cluster.core.builders import a_set

from kapstan.cluster.core.machineset.naming import NEXT, BadNaming, Names, rendered
from kapstan.machinery.names import dns1123_label_errors


def names_of(**metadata: object) -> Names:
    return Names(a_set(metadata=metadata))


def test_names_look_like_kubernetes_own() -> None:
    name = names_of()[0]
    assert name.startswith("s-") and len(name) == 7
    assert not dns1123_label_errors(name)


def test_who_tries_again_tries_the_same_names() -> None:
    first = list(islice(names_of().free(()), 3))
    assert list(islice(names_of().free(first[:2]), 1)) == first[2:]
    assert list(islice(names_of().free([first[1]]), 2)) == [first[0], first[2]]


def test_other_sets_have_other_names() -> None:
    assert names_of(uid="one")[0] != names_of(uid="other")[0]


@given(st.sets(st.integers(0, 30), max_size=10), st.integers(0, 20))
def test_a_name_that_was_noted_is_not_used_again(places: set[int], begin: int) -> None:
    """Whichever machines are there when the row is noted, none of their names is free afterwards."""
    names = names_of(annotations={NEXT: str(begin)})
    taken = {names[place] for place in places}
    noted = names_of(annotations={NEXT: str(names.after(taken))})
    assert not taken & set(islice(noted.free(()), 40))
    assert noted.next >= begin


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{ .machineSet.name }}-{{ .random }}", "s-abcde"),
        ("{{ .cluster.name }}-x-{{ .random }}", "c-x-abcde"),
        ("{{.cluster.name}}{{ .random }}", "cabcde"),
        ("x" * 70 + "{{ .random }}", "x" * 58 + "abcde"),
    ],
)
def test_templates(template: str, name: str) -> None:
    assert rendered(template, "c", "s", "abcde") == name


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("{{ .cluster.name }}", "has no {{ .random }}"),
        ("{{ .machine.name }}-{{ .random }}", r"names .machine.name; there is only .cluster.name"),
        ("{{ if true }}{{ .random }}", "is more than names in braces"),
    ],
)
def test_templates_that_are_refused(template: str, complaint: str) -> None:
    with pytest.raises(BadNaming, match=complaint):
        rendered(template, "c", "s", "abcde")
