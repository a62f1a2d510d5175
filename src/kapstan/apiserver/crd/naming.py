"""Names and conditions of definitions: who got a name first keeps it, and everyone can see why they did not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapstan.apiserver.crd.approval import approval
from kapstan.apiserver.crd.bundle import has_valid_bundle
from kapstan.apiserver.crd.definition import condition, is_true
from kapstan.machinery.golang import quote

__all__ = ("accept_names", "set_condition", "tell_approval")

Object = dict[str, Any]


def set_condition(crd: Object, type: str, status: str, reason: str, message: str, now: str) -> None:
    """Set a condition; its time changes with its status only."""
    whole = crd.setdefault("status", {})
    conditions = whole["conditions"] = whole.get("conditions") or []
    found = condition(crd, type)
    time = found["lastTransitionTime"] if found is not None and found["status"] == status else now
    new = {"type": type, "status": status, "lastTransitionTime": time, "reason": reason, "message": message}
    if found is None:
        conditions.append(new)
    else:
        conditions[conditions.index(found)] = new


def accept_names(crd: Object, others: Iterable[Object], now: str) -> None:
    """Take the wanted names that are free, and say so in the status. `others` are the group's other definitions."""
    resources, kinds = _taken(others)
    wanted, status = crd["spec"]["names"], crd.setdefault("status", {})
    accepted: Object = dict(status.get("acceptedNames") or {"plural": "", "kind": ""})
    problem = ("", "")
    for name, reason, taken in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        complaint = _complaint(wanted.get(name), accepted.get(name), taken)
        if complaint:
            problem = (reason, complaint)
        elif wanted.get(name):
            accepted[name] = wanted[name]
        else:
            accepted.pop(name, None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    else:
        accepted.pop("categories", None)
    status["acceptedNames"] = accepted
    reason, message = problem
    if message:
        set_condition(crd, "NamesAccepted", "False", reason, message, now)
    else:
        set_condition(crd, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
    _establish(crd, now)


def tell_approval(crd: Object, now: str) -> None:
    """In Kubernetes' own groups, say whether the definition was approved."""
    found = approval(crd)
    if found is not None:
        set_condition(crd, "KubernetesAPIApprovalPolicyConformant", *found, now)


def _establish(crd: Object, now: str) -> None:
    """Once established, a definition stays so."""
    if is_true(crd, "Established"):
        return
    if not is_true(crd, "NamesAccepted"):
        set_condition(crd, "Established", "False", "NotAccepted", "not all names are accepted", now)
    elif not has_valid_bundle(crd):
        message = "The conversion webhook CABundle is invalid"
        set_condition(crd, "Established", "False", "InvalidCABundle", message, now)
    else:
        message = "the initial names have been accepted"
        set_condition(crd, "Established", "True", "InitialNamesAccepted", message, now)


def _complaint(wanted: Any, accepted: Any, taken: set[str]) -> str:
    """Why a name cannot be had; "" if it can, or is ours already."""
    if isinstance(wanted, list):
        own = accepted if isinstance(accepted, list) else []
        complaints = [_complaint(name, name if name in own else "", taken) for name in wanted]
        found = [complaint for complaint in complaints if complaint]
        return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""
    if not wanted or wanted == accepted or wanted not in taken:
        return ""
    return f"{quote(wanted)} is already in use"


def _taken(others: Iterable[Object]) -> tuple[set[str], set[str]]:
    """The names that other definitions have: of resources, and of kinds."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        names = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural") or "", names.get("singular") or "", *(names.get("shortNames") or ())}
        kinds |= {names.get("kind") or "", names.get("listKind") or ""}
    return resources - {""}, kinds - {""}
