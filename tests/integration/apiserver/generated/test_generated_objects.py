"""Objects of built-in kinds with something changed in them: what is filled in, and what is refused, is the same."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.apiserver.exploring import examples
from tests.integration.apiserver.generated.conftest import differences
from tests.unit.apiserver.strategy.asking import Answer, outcome
from tests.unit.apiserver.strategy.cases.objects import CASES

from kapstan.apiserver.registry.builtins import builtin_kinds
from kapstan.machinery.gvk import GroupVersionKind

if TYPE_CHECKING:
    from tests.integration.apiserver.generated.conftest import Lab

pytestmark = pytest.mark.real

Object = dict[str, Any]
ODD: tuple[Any, ...] = (None, "", "x", "A b", "-", 0, -1, 70000, True, [], {}, "1.5", "10.0.0.1", "a" * 60)

_GO_TYPE = re.compile(r" of type [\w.\[\]]+")
_UNJUDGED = "its own rules are not kept here, only those that its schema has: nothing on a management plane reads it"
KNOWN = dict.fromkeys(
    (
        "FlowSchema",
        "PriorityLevelConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "DeviceClass",
        "ResourceClaim",
    ),
    _UNJUDGED,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something could be changed."""
    entries: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        if path or key not in ("apiVersion", "kind"):
            yield (*path, key)
            yield from places(item, (*path, key))


def changed(obj: Object, random: Random) -> Object:
    """With something missing, doubled or other than it was."""
    obj = copy.deepcopy(obj)
    path = random.choice(list(places(obj)))
    parent: Any = obj
    for key in path[:-1]:
        parent = parent[key]
    how = random.random()
    if how < 0.25:
        del parent[path[-1]]
    elif how < 0.35 and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[path[-1]]))
    elif how < 0.45 and isinstance(parent, dict):
        parent[path[-1]] = random.choice(list(parent.values()))
    else:
        parent[path[-1]] = random.choice(ODD)
    return obj


def location(obj: Object) -> str:
    kind = builtin_kinds().kind(GroupVersionKind.of(obj["apiVersion"], obj["kind"]))
    assert kind is not None
    base = f"/apis/{obj['apiVersion']}" if "/" in obj["apiVersion"] else f"/api/{obj['apiVersion']}"
    return f"{base}{'/namespaces/default' if kind.namespaced else ''}/{kind.gvr.resource}?dryRun=All"


def told(answer: Object) -> Object:
    """What of an answer must be the same: the order of causes is Go's own, and so are the names of its types."""
    text = json.dumps(outcome(Answer(answer["status"], answer["body"], [])))
    text = text.replace("Unsupported value: {}", "Unsupported value: null")  # Go tells an empty map from none
    found: Object = json.loads(_GO_TYPE.sub(" of type T", text))
    return {**found, "warnings": sorted(answer["warnings"])}


@pytest.mark.parametrize("case", [name for name, obj in CASES.items() if obj["kind"] not in KNOWN])
@examples(4)
@given(random=st.randoms(use_true_random=False))
def test_changed_objects(lab: Lab, case: str, random: Random) -> None:
    obj = changed(CASES[case], random)
    ours, theirs = lab.ask("POST", location(obj), obj)
    told_ours, told_theirs = told(ours), told(theirs)
    assert told_ours == told_theirs, f"{obj}\n" + "\n".join(differences(told_ours, told_theirs))
