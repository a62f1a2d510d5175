"""Patches, field sets, types and field managers, against the libraries that kube-apiserver is made of."""

from __future__ import annotations

import copy
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.programs import Oracle

from ...unit.machinery.apply.answers import answer, comparable
from .questions import QUESTIONS

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("about", QUESTIONS)
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(random=st.randoms(use_true_random=False))
def test_both_answer_alike(oracle: Oracle, about: str, random: Random) -> None:
    """And we change nothing of what we were given."""
    for op, args, theirs in QUESTIONS[about](oracle, random):
        if theirs.get("panic"):
            continue  # the library's own fault, such as comparing null in a list through a nil pointer
        before = copy.deepcopy(args)
        ours = answer(op, args)
        assert args == before
        assert comparable(op, args, ours) == comparable(op, args, theirs)
