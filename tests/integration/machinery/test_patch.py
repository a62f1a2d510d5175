"""Patches, against the libraries of kube-apiserver."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kapstan.apiserver import builtin
from kapstan.machinery.errors import APIError
from kapstan.machinery.patch import apply_json_patch, apply_merge_patch, apply_strategic_merge_patch

from .cases import KINDS, json_value, object_of, strategic_patch
from .oracle import Oracle, Refused

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

randoms = st.randoms(use_true_random=False)
often = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))


def ours(call: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "result", json.dumps(call(), sort_keys=True)
    except APIError as error:
        return "error", str(error)


def theirs(oracle: Oracle, op: str, **args: Any) -> tuple[str, Any]:
    try:
        return "result", json.dumps(oracle.ask(op, **args), sort_keys=True)
    except Refused as error:
        return ("panic" if error.panicked else "error"), str(error)


def document(random: Random) -> dict[str, Any]:
    return {name: json_value(random, 3) for name in "abc"}


def pointers(value: Any, prefix: str = "") -> list[str]:
    found = [prefix]
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        found += pointers(part, f"{prefix}/{str(key).replace('~', '~0').replace('/', '~1')}")
    return found


def pointer(random: Random, value: Any) -> str:
    found = random.choice(pointers(value))
    if random.random() < 0.3:
        found += "/" + random.choice(("a", "b", "-", "0", "1", "-1", "5", "x", "01", "+1", "99999999999999999999"))
    return found


def operation(random: Random, value: Any) -> dict[str, Any]:
    kind = random.choice(("add", "remove", "replace", "move", "copy", "test"))
    made: dict[str, Any] = {"op": kind, "path": pointer(random, value)}
    if kind in ("move", "copy"):
        made["from"] = pointer(random, value)
    if kind in ("add", "replace", "test"):
        made["value"] = json_value(random, 2)
    return made


@often
@given(random=randoms)
def test_json_patch(oracle: Oracle, random: Random) -> None:
    before = document(random)
    operations = [operation(random, before) for _ in range(random.randint(1, 4))]
    expected = theirs(oracle, "patch.json", document=before, patch=operations)
    if expected[0] == "panic":
        return  # the library compares null in a list through a nil pointer
    kind, text = expected
    # A formatting slip of the library, which we do not repeat.
    assert ours(lambda: apply_json_patch(before, operations)) == (kind, text.removesuffix(": %!w(<nil>)"))


@often
@given(random=randoms)
def test_merge_patch(oracle: Oracle, random: Random) -> None:
    before, patch = document(random), document(random)
    expected = theirs(oracle, "patch.merge", document=before, patch=patch)
    assert ours(lambda: apply_merge_patch(before, patch)) == expected


@often
@given(random=randoms, kind=st.sampled_from(sorted(KINDS)))
def test_strategic_merge_patch(oracle: Oracle, random: Random, kind: tuple[str, str, str]) -> None:
    group, version, name = kind
    definition = builtin.definition_name(*kind)
    assert definition is not None
    schema = builtin.definitions().schema(definition)
    before, patch = object_of(kind, random), strategic_patch(kind, random)
    expected = theirs(oracle, "patch.strategic", document=before, patch=patch, group=group, version=version, kind=name)
    found = ours(lambda: apply_strategic_merge_patch(before, patch, schema))
    if expected[0] == "error":
        assert found[0] == "error"  # of several errors, Go reports a random one
    else:
        assert found == expected
