"""What the warnings of several kinds have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kapstan.apiserver.strategy.validation.addresses import parse_cidr, parse_ip
from kapstan.machinery.golang import quote
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.validation import Path

__all__ = (
    "DEPRECATED_LABELS",
    "Object",
    "Warnings",
    "address_warning",
    "fractional_bytes",
    "node_term_labels",
    "range_warnings",
)

Object = dict[str, Any]
Warnings = Iterator[str]

DEPRECATED_LABELS: Mapping[str, str] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def address_warning(text: str, path: Path) -> Warnings:
    """An address that not all programs read alike; new ones are refused, old ones may be there."""
    found = parse_ip(text)
    if found is None or str(found) == text:
        return
    if found.version == 4:
        yield f"{path}: non-standard IP address {quote(text)} is invalid: use {quote(str(found))}"
    else:
        yield f"{path}: IPv6 address {quote(text)} should be in RFC 5952 canonical format ({quote(str(found))})"


def range_warnings(text: str, path: Path) -> Warnings:
    found, address = parse_cidr(text), parse_ip(text.partition("/")[0])
    if found is None or address is None or str(found) == text:
        return
    if address != found.network_address:
        single = f"{address}/{address.max_prefixlen}"
        choice = f"{quote(str(found))} or {quote(single)}"
        yield f"{path}: CIDR value {quote(text)} is ambiguous in this context (should be {choice}?)"
    elif found.version == 4:
        yield f"{path}: non-standard CIDR value {quote(text)} is invalid: use {quote(str(found))}"
    else:
        yield f"{path}: IPv6 CIDR value {quote(text)} should be in RFC 5952 canonical format ({quote(str(found))})"


def fractional_bytes(amounts: Mapping[str, str] | None, name: str, path: Path) -> Warnings:
    """Bytes cannot be halved."""
    text = (amounts or {}).get(name)
    if text is not None and Quantity(text) != int(Quantity(text)):
        yield f"{path.key(name)}: fractional byte value {quote(text)} is invalid, must be an integer"


def node_term_labels(term: Object, path: Path) -> Warnings:
    """Labels of nodes that have new names."""
    for position, expression in enumerate(term.get("matchExpressions") or ()):
        key = expression.get("key", "")
        if key in DEPRECATED_LABELS:
            at = path.child("matchExpressions").index(position).child("key")
            yield f"{at}: {key} is {DEPRECATED_LABELS[key]}"
