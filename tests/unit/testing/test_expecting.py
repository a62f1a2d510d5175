"""What a person reads when an object is not as a test wants it."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.k8s.apps_v1 import Deployment, DeploymentSpec
from kapstan.k8s.core_v1 import ConfigMap, Container, PodSpec, PodTemplateSpec
from kapstan.machinery.meta import LabelSelector, ObjectMeta
from kapstan.testing.expecting import Seen, unmet


def config_map(**data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="a", labels={"x": "y"}), data=data)


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"data": {"k": "v"}},
        {"metadata": {"labels": {"x": "y"}}, "data": {"k": "v", "j": "w"}},
        lambda found: found.data["k"] == "v",
    ],
)
def test_fields_that_are_not_mentioned_may_be_anything(wanted: Any) -> None:
    assert unmet(wanted, config_map(k="v", j="w")) is None


def test_a_difference_is_shown_line_by_line() -> None:
    said = unmet({"metadata": {"name": "a"}, "data": {"k": "v", "size": "1"}}, config_map(k="other", unasked="1"))
    assert said is not None
    lines = said.splitlines()
    assert lines[0] == "wanted (-), found (+):"
    assert {"-  k: v", "+  k: other", "-  size: '1'", "   name: a"} == set(lines[1:]) - {" metadata:", " data:"}
    assert "unasked" not in said


def test_items_of_a_list_are_compared_one_by_one_and_their_number_counts() -> None:
    containers = [Container(name="one", image="a"), Container(name="two", image="b")]
    template = PodTemplateSpec(spec=PodSpec(containers=containers))
    found = Deployment(spec=DeploymentSpec(selector=LabelSelector(), template=template))

    def wanted(*items: dict[str, str]) -> dict[str, Any]:
        return {"spec": {"template": {"spec": {"containers": list(items)}}}}

    assert unmet(wanted({"name": "one"}, {"image": "b"}), found) is None
    said = unmet(wanted({"name": "one"}), found)
    assert said is not None and "name: two" in said


def test_an_assertion_says_why() -> None:
    def check(found: ConfigMap) -> None:
        raise AssertionError("it is too late")

    assert unmet(check, config_map()) == "it is too late"
    assert unmet(lambda found: False, config_map()) == "the condition did not hold"


def test_what_was_seen_is_the_last_state_and_what_changed_until_then() -> None:
    seen = Seen()
    assert (seen.reason, str(seen)) == ("it was not there", "")
    for value in ("first", "second", "third"):
        seen.note(config_map(k=value), "no")
    told = str(seen)
    assert "It was last seen as:\n" in told and "  k: third" in told
    assert "-  k: first" in told and "+  k: third" in told and "second" not in told
    seen.deleted()
    assert (seen.reason, str(seen)) == ("it was deleted", "")
