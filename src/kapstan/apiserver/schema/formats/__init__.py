"""Formats of strings that schemas may ask for, checked exactly as Kubernetes checks them.

A format that is not in the table is no constraint. Names are compared without dashes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kapstan.apiserver.schema.formats import addresses, times, urls
from kapstan.apiserver.schema.formats.email import is_email
from kapstan.apiserver.schema.regexp import compile_regexp
from kapstan.machinery.names import dns1123_label_errors, dns1123_subdomain_errors

__all__ = ("checker", "is_base64", "is_email", "is_uuid")

_HEX = "[0-9a-fA-F]"
_LETTER = r"a-zA-Z0-9\p{S}\p{L}"
_HOSTNAME = compile_regexp(
    rf"^([{_LETTER}]((-?[{_LETTER}]{{0,62}})?)"
    rf"|([{_LETTER}](([a-zA-Z0-9-\p{{S}}\p{{L}}]{{0,61}}[{_LETTER}])?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*+(?:(?<=.{4})|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)", re.DOTALL)
_CREDIT_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_COLOUR_PART = r"[\t\n\f\r ]*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*"


def _matching(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str = _HEX, variant: str = _HEX) -> Callable[[str], bool]:
    return _matching(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{version}{_HEX}{{3}}-?{variant}{_HEX}{{3}}-?{_HEX}{{12}}")


def _is_hostname(text: str) -> bool:
    return (
        len(text.encode()) <= 255
        and all(len(part.encode()) <= 63 for part in text.split("."))
        and _HOSTNAME.matches(text)
    )


def is_base64(text: str) -> bool:
    """The format `byte`. The empty text is not accepted."""
    return _BASE64.fullmatch(text) is not None


def _is_credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not _CREDIT_CARD.fullmatch(digits):
        return False
    doubled = [int(digit) * 2 for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(number - 9 if number > 9 else number for number in doubled)) % 10 == 0


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(weight * value for weight, value in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum(int(digit) * (3 if position % 2 else 1) for position, digit in enumerate(digits)) % 10 == 0


def _is_ssn(text: str) -> bool:
    return len(text) == 11 and re.fullmatch("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", text) is not None


is_uuid = _uuid()

_CHECKERS: Mapping[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching(f"{_HEX}{{24}}"),
    "byte": is_base64,
    "cidr": addresses.is_cidr,
    "creditcard": _is_credit_card,
    "date": times.is_date,
    "datetime": times.is_datetime,
    "duration": times.is_duration,
    "email": is_email,
    "hexcolor": _matching(f"#?({_HEX}{{3}}|{_HEX}{{6}})"),
    "hostname": _is_hostname,
    "ipv4": addresses.is_ipv4,
    "ipv6": addresses.is_ipv6,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8slongname": lambda text: not dns1123_subdomain_errors(text),
    "k8sshortname": lambda text: not dns1123_label_errors(text),
    "mac": addresses.is_mac,
    "password": lambda text: True,
    "rgbcolor": _matching(rf"rgb\({_COLOUR_PART},{_COLOUR_PART},{_COLOUR_PART}\)"),
    "ssn": _is_ssn,
    "uri": urls.is_uri,
    "uuid": is_uuid,
    "uuid3": _uuid(version="3"),
    "uuid4": _uuid(version="4", variant="[89abAB]"),
    "uuid5": _uuid(version="5", variant="[89abAB]"),
}


def checker(format: str) -> Callable[[str], bool] | None:
    """The test for a format; None if any string has it."""
    return _CHECKERS.get(format.replace("-", ""))
