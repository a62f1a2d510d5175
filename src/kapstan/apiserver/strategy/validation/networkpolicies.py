"""Network policies."""

from __future__ import annotations

from collections.abc import Collection

from kapstan.apiserver.strategy.validation.addresses import cidr, parse_cidr
from kapstan.apiserver.strategy.validation.common import Object, Rules, complaints, label_selector, port_name_errors
from kapstan.apiserver.strategy.validation.common import port_number as port_in_range
from kapstan.machinery.validation import FieldError, Path

__all__ = ("network_policy", "network_policy_update")

_SPEC = Path("spec")
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))
_TYPES = ("Ingress", "Egress")


def network_policy(obj: Object) -> Rules:
    return _policy(obj, ())


def network_policy_update(obj: Object, old: Object) -> Rules:
    known: set[str] = set()
    for direction, side in _DIRECTIONS:
        for rule in old["spec"].get(direction) or ():
            for peer in rule.get(side) or ():
                block = peer.get("ipBlock") or {}
                known |= {block.get("cidr", ""), *(block.get("except") or ())}
    return _policy(obj, known)


def _policy(obj: Object, known: Collection[str]) -> Rules:
    spec = obj["spec"]
    yield from label_selector(spec.get("podSelector"), _SPEC.child("podSelector"))
    for direction, side in _DIRECTIONS:
        for position, rule in enumerate(spec.get(direction) or ()):
            at = _SPEC.child(direction).index(position)
            for index, one in enumerate(rule.get("ports") or ()):
                yield from _port(one, at.child("ports").index(index))
            for index, peer in enumerate(rule.get(side) or ()):
                yield from _peer(peer, at.child(side).index(index), known)
    types, path = spec.get("policyTypes") or (), _SPEC.child("policyTypes")
    if len(types) > len(_TYPES):
        yield FieldError.invalid(path, types, "may not specify more than two policyTypes")
        return
    for position, one in enumerate(types):
        if one not in _TYPES:
            yield FieldError.not_supported(path.index(position), one, _TYPES)


def _port(one: Object, path: Path) -> Rules:
    protocol, number, end = one.get("protocol"), one.get("port"), one.get("endPort")
    if protocol is not None and protocol not in ("TCP", "UDP", "SCTP"):
        yield FieldError.not_supported(path.child("protocol"), protocol, ("TCP", "UDP", "SCTP"))
    if isinstance(number, int):
        yield from port_in_range(number, path.child("port"))
        if end is not None:
            if end < number:
                yield FieldError.invalid(path.child("endPort"), number, "must be greater than or equal to `port`")
            yield from port_in_range(end, path.child("endPort"))
        return
    if end is not None:
        state = "specified" if number is None else "numeric"
        wrong = f"not {state}" if number is None else f"non-{state}"
        yield FieldError.invalid(path.child("endPort"), end, f"may not be specified when `port` is {wrong}")
    if number is not None:
        yield from complaints(number, path.child("port"), port_name_errors)


def _peer(peer: Object, path: Path, known: Collection[str]) -> Rules:
    present = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    for name in present:
        if name == "ipBlock":
            yield from _block(peer[name], path.child(name), known)
        else:
            yield from label_selector(peer[name], path.child(name))
    if not present:
        yield FieldError.required(path, "must specify a peer")
    elif len(present) > 1 and "ipBlock" in present:
        yield FieldError.forbidden(path, "may not specify both ipBlock and another peer")


def _block(block: Object, path: Path, known: Collection[str]) -> Rules:
    whole = block.get("cidr", "")
    if not whole:
        yield FieldError.required(path.child("cidr"))
        return
    yield from cidr(whole, path.child("cidr"), known)
    network = parse_cidr(whole)
    if network is None:
        return
    for position, excepted in enumerate(block.get("except") or ()):
        at = path.child("except").index(position)
        yield from cidr(excepted, at, known)
        part = parse_cidr(excepted)
        if part is None:
            continue
        inside = part.version == network.version and part.network_address in network
        if not inside or network.prefixlen >= part.prefixlen:
            yield FieldError.invalid(at, excepted, "must be a strict subset of `cidr`")
