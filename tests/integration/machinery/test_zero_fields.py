"""What Go writes where nobody set anything, which decides who owns the objects around a new field."""

from __future__ import annotations

import pytest
from tests.integration.programs import Oracle

from kapstan.apiserver.builtin import facts
from kapstan.machinery.apply.types import compile_type

pytestmark = pytest.mark.real


def test_the_zero_fields_of_all_types_are_those_of_go(oracle: Oracle) -> None:
    """If this fails for a new version of Kubernetes, run tools/oracles/zero_fields.py."""
    zeros = oracle.ask({"op": "zero"})["result"]
    compared = 0
    for name in facts.definition_sources():
        atom = compile_type(facts.definitions().schema(name))
        if name in zeros and atom.map is not None and atom.map.fields:
            ours = {field: {} if isinstance(zero, dict) else zero for field, zero in atom.map.zero.items()}
            assert ours == {field: zeros[name][field] for field in atom.map.fields if field in zeros[name]}, name
            compared += 1
    assert compared > 400
