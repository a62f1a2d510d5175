"""Quantity: fixed-point numbers with SI or binary suffixes (`100m`, `1.5Gi`, `2e3`), with exact arithmetic.

The text that a user wrote is kept until the number changes, as Kubernetes keeps it; `canonical()` gives the form in
which no precision is lost, no fractional digits are written and the exponent is as large as possible.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal
from functools import total_ordering
from typing import Literal, TypeAlias

__all__ = ("Quantity", "QuantityFormat")

QuantityFormat: TypeAlias = Literal["BinarySI", "DecimalSI", "DecimalExponent"]

_PATTERN = re.compile(
    r"(?P<sign>[+-]?)(?P<number>\d+\.?\d*|\.\d+)(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?\d+))?"
)
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_NANO = Decimal("1e-9")
_MAX = Decimal(2**63 - 1)
_EXACT = Context(prec=400)


@total_ordering
class Quantity:
    """An amount of CPU, memory or anything countable. Immutable, hashable, compared by value."""

    __slots__ = ("_format", "_text", "_value")

    _value: Decimal
    _format: QuantityFormat
    _text: str

    def __init__(self, value: str | int | Decimal | Quantity, format: QuantityFormat | None = None) -> None:
        if isinstance(value, Quantity):
            self._value, self._format, self._text = value._value, format or value._format, value._text
            return
        if isinstance(value, str):
            number, found = _parse(value)
            self._value, self._format, self._text = _limited(number, found), format or found, value
            return
        self._format = format or "DecimalSI"
        self._value = _limited(Decimal(value), self._format)
        self._text = self.canonical()

    @property
    def value(self) -> Decimal:
        """The exact number."""
        return self._value

    @property
    def format(self) -> QuantityFormat:
        return self._format

    def canonical(self) -> str:
        """The form that the API server writes: 1024Mi is 1Gi, 0.5 is 500m, 1.50 is 1500m."""
        value = self._value
        if not value:
            return "0"
        if self._format == "BinarySI" and -1024 < value < 1024:
            return _decimal_text(value, self._format)
        if self._format == "BinarySI":
            return _binary_text(value)
        return _decimal_text(value, self._format)

    def milli(self) -> int:
        """In thousandths, rounded away from zero, as schedulers count CPU."""
        return int((self._value * 1000).to_integral_value(ROUND_UP))

    def __int__(self) -> int:
        """Rounded away from zero, as Go's `Value()` does."""
        return int(self._value.to_integral_value(ROUND_UP))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({self._text!r})"

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        number = _number(other)
        return NotImplemented if number is None else self._value == number

    def __lt__(self, other: Quantity | int | Decimal | str) -> bool:
        number = _number(other)
        return NotImplemented if number is None else self._value < number

    def __add__(self, other: Quantity | int | Decimal | str) -> Quantity:
        return self._result(other, 1)

    def __sub__(self, other: Quantity | int | Decimal | str) -> Quantity:
        return self._result(other, -1)

    def __neg__(self) -> Quantity:
        return Quantity(-self._value, self._format)

    def __mul__(self, factor: int | Decimal) -> Quantity:
        return Quantity(_EXACT.multiply(self._value, Decimal(factor)), self._format)

    def _result(self, other: Quantity | int | Decimal | str, sign: int) -> Quantity:
        amount = other if isinstance(other, Quantity) else Quantity(other)
        # Nothing plus something is written as the something was.
        form = self._format if self._value else amount._format
        return Quantity(_EXACT.add(self._value, sign * amount._value), form)


def _number(other: object) -> Decimal | None:
    if isinstance(other, Quantity):
        return other._value
    if isinstance(other, str):
        return Quantity(other)._value
    if isinstance(other, int | Decimal):
        return Decimal(other)
    return None


def _parse(text: str) -> tuple[Decimal, QuantityFormat]:
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(
            f"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$': {text!r}"
        )
    number = Decimal(match["sign"] + match["number"])
    if match["binary"]:
        return _EXACT.multiply(number, Decimal(1024) ** _BINARY[match["binary"]]), "BinarySI"
    if match["exponent"] is not None:
        if len(match["exponent"]) > 4:
            raise ValueError(f"quantity {text!r} has an exponent out of range")
        return number.scaleb(int(match["exponent"]), _EXACT), "DecimalExponent"
    return number.scaleb(_DECIMAL[match["decimal"] or ""], _EXACT), "DecimalSI"


def _limited(number: Decimal, form: QuantityFormat) -> Decimal:
    """Kubernetes' limits: nothing finer than nano (rounded away from zero), nothing binary above 2^63-1."""
    if form == "BinarySI":
        number = max(-_MAX, min(_MAX, number))
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -9:
        number = number.quantize(_NANO, ROUND_UP, _EXACT)
    return number


def _binary_text(value: Decimal) -> str:
    if value != value.to_integral_value():
        return _decimal_text(value, "DecimalSI")
    number, exponent = int(value), 0
    while exponent < 6 and number % 1024 == 0:
        number, exponent = number // 1024, exponent + 1
    suffix = next((name for name, power in _BINARY.items() if power == exponent), "")
    return f"{number}{suffix}"


def _decimal_text(value: Decimal, form: QuantityFormat) -> str:
    sign, digits, exponent = value.normalize(_EXACT).as_tuple()
    assert isinstance(exponent, int)
    padding = exponent % 3  # exponents are multiples of three
    number = int("".join(map(str, digits))) * 10**padding
    exponent -= padding
    if exponent > 18 and form != "DecimalExponent":
        number, exponent = number * 10 ** (exponent - 18), 18
    text = f"{'-' if sign else ''}{number}"
    if form == "DecimalExponent":
        return f"{text}e{exponent}" if exponent else text
    return text + _SUFFIX_BY_EXPONENT[exponent]
