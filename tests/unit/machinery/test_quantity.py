"""Quantity against vectors that Kubernetes' own apimachinery answered, and the laws of arithmetic."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.machinery.quantity import Quantity

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "vectors" / "quantity.json").read_text())
WELL_FORMED = [vector for vector in VECTORS if "error" not in vector]
MALFORMED = [vector["in"] for vector in VECTORS if "error" in vector]

amounts = st.decimals(min_value=-(10**12), max_value=10**12, places=9, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("vector", WELL_FORMED, ids=lambda vector: vector["in"])
def test_agrees_with_kubernetes(vector: dict[str, Any]) -> None:
    quantity = Quantity(vector["in"])
    assert quantity.canonical() == vector["canonical"]
    assert quantity.format == vector["format"]
    if "value" in vector:
        assert (int(quantity), quantity.milli()) == (vector["value"], vector["milli"])


@pytest.mark.parametrize("text", MALFORMED, ids=repr)
def test_refuses_what_kubernetes_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="quantit"):
        Quantity(text)


def test_keeps_the_text_that_was_written() -> None:
    assert str(Quantity("1024Mi")) == "1024Mi"
    assert str(Quantity("1024Mi") + "0") == "1Gi"


def test_compares_by_value_across_notations() -> None:
    assert Quantity("1Gi") == Quantity("1024Mi") == "1048576Ki"
    assert Quantity("100m") < "1" <= Quantity("1000m")
    assert hash(Quantity("1k")) == hash(Quantity("1000"))


@given(amounts, amounts)
def test_addition_is_exact_and_undone_by_subtraction(left: Decimal, right: Decimal) -> None:
    total = Quantity(left) + Quantity(right)
    assert total.value == left + right
    assert total - Quantity(right) == Quantity(left)


@given(amounts)
def test_the_canonical_text_means_the_same_number(amount: Decimal) -> None:
    assert Quantity(Quantity(amount).canonical()) == Quantity(amount)
