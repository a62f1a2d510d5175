"""IP families of a service. Clusters here have one family, IPv4: what asks for a second one is refused."""

from __future__ import annotations

import ipaddress
from typing import Any

from kapstan.machinery.validation import FieldError, Path

__all__ = ("family_of", "initialize_families")

Object = dict[str, Any]

_POLICY = Path("spec", "ipFamilyPolicy")
_DUAL = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"


def family_of(address: str) -> str:
    return "IPv6" if isinstance(ipaddress.ip_address(address), ipaddress.IPv6Address) else "IPv4"


def initialize_families(spec: Object, old: Object | None) -> list[FieldError]:
    """Fill in `ipFamilyPolicy` and `ipFamilies`; what cannot be had here comes back as errors."""
    if spec.get("type") == "ExternalName" or (old is not None and _is_unchanged_dual(spec, old)):
        return []
    _default_policy(spec, old)
    errors = _reduce(spec, old) if old is not None else []
    errors += _policy_errors(spec)
    errors += _infer_families(spec)
    if errors:
        return errors
    if spec.get("clusterIP") == "None" and not spec.get("selector"):
        families = spec.setdefault("ipFamilies", ["IPv4"])
        if len(families) < 2 and spec["ipFamilyPolicy"] != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        return []
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        errors.append(FieldError.invalid(_POLICY, spec["ipFamilyPolicy"], detail))
    for position, family in enumerate(spec.get("ipFamilies") or ()):
        if family != "IPv4":
            path = Path("spec", "ipFamilies").index(position)
            errors.append(FieldError.invalid(path, family, "not configured on this cluster"))
    if not errors:
        spec.setdefault("ipFamilies", ["IPv4"])
    return errors


def _is_unchanged_dual(spec: Object, old: Object) -> bool:
    same = all(spec.get(name) == old.get(name) for name in ("type", "clusterIPs", "ipFamilies", "ipFamilyPolicy"))
    return same and spec.get("ipFamilyPolicy") == "PreferDualStack"


def _default_policy(spec: Object, old: Object | None) -> None:
    if spec.get("ipFamilyPolicy") is not None:
        return
    if old is not None and old.get("ipFamilyPolicy") is not None:
        spec["ipFamilyPolicy"] = old["ipFamilyPolicy"]
    elif spec.get("clusterIP") == "None" and not spec.get("selector"):
        spec["ipFamilyPolicy"] = "RequireDualStack"
    else:
        spec["ipFamilyPolicy"] = "SingleStack"


def _reduce(spec: Object, old: Object) -> list[FieldError]:
    """Going back to one family is done by saying so."""
    errors = []
    for name, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        values, before = spec.get(name) or [], old.get(name) or []
        if spec["ipFamilyPolicy"] == "SingleStack":
            if values == before and len(values) > 1:
                spec[name] = values[:1]
        elif values and len(values) < len(before):
            detail = f"must be 'SingleStack' to release the secondary {what}"
            errors.append(FieldError.invalid(_POLICY, spec["ipFamilyPolicy"], detail))
    return errors


def _policy_errors(spec: Object) -> list[FieldError]:
    if spec["ipFamilyPolicy"] != "SingleStack":
        return []
    return [
        FieldError.invalid(_POLICY, spec["ipFamilyPolicy"], _DUAL.format(what))
        for name, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
        if len(spec.get(name) or ()) == 2
    ]


def _infer_families(spec: Object) -> list[FieldError]:
    """The families of addresses that the client chose."""
    errors: list[FieldError] = []
    families = list(spec.get("ipFamilies") or ())
    for position, address in enumerate(spec.get("clusterIPs") or ()):
        if address == "None":
            break
        if position < len(families):
            continue
        family = family_of(address)
        if family == "IPv4":
            families.append(family)
            spec["ipFamilies"] = families
        else:
            path = Path("spec", "clusterIPs").index(position)
            errors.append(FieldError.invalid(path, spec["clusterIPs"], f"{family} is not configured on this cluster"))
    return errors
