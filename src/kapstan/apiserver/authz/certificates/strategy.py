"""How CertificateSigningRequests are written: who asked is the server's to say, approving and signing are apart."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography import x509

from kapstan.apiserver.authn.interface import user_info
from kapstan.apiserver.authz.certificates.request import InvalidRequest, parse
from kapstan.apiserver.authz.certificates.signers import LEGACY_UNKNOWN, USAGES
from kapstan.apiserver.request import Request
from kapstan.apiserver.strategy.base import Strategy
from kapstan.machinery.names import dns1123_label_errors, dns1123_subdomain_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = ("ApprovalStrategy", "RequestStrategy", "StatusStrategy")

_SPEC = Path("spec")
_CONDITIONS = Path("status", "conditions")
_CERTIFICATE = Path("status", "certificate")
_FINAL = ("Approved", "Denied", "Failed")

Object = dict[str, Any]


class RequestStrategy(Strategy):
    """The main endpoint: after its creation, nothing but metadata changes here."""

    has_status = True
    selectable_fields = ("spec.signerName",)
    may_decide = False  # may add Approved and Denied
    may_sign = False  # may set the certificate

    def name_errors(self, name: str, prefix: bool = False) -> list[str]:
        return []

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        for field in ("username", "uid", "groups", "extra"):
            spec.pop(field, None)
        spec.update(user_info(request.user))
        obj["status"] = {}

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        obj["spec"], obj["status"] = old["spec"], old.get("status") or {}

    def validate(self, request: Request, obj: Object) -> Sequence[FieldError]:
        return _errors(obj, None)

    def validate_update(self, request: Request, obj: Object, old: Object) -> Sequence[FieldError]:
        return _errors(obj, old) + _change_errors(obj, old, may_decide=self.may_decide, may_sign=self.may_sign)

    def reset_fields(self) -> Sequence[tuple[str, ...]]:
        return (("spec",), ("status",))

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"spec.signerName": (obj.get("spec") or {}).get("signerName", "")}


class StatusStrategy(RequestStrategy):
    """`/status`: for signers. They set the certificate and conditions, but decide nothing."""

    may_sign = True

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        obj["spec"] = old["spec"]
        status = obj.setdefault("status", {}) or {}
        before = (old.get("status") or {}).get("conditions") or []
        after = status.get("conditions") or []
        for kind in ("Approved", "Denied"):
            _keep_instances(after, before, kind)
        _set_times(after, before, request.timestamp)

    def reset_fields(self) -> Sequence[tuple[str, ...]]:
        return (("spec",), ("status", "conditions"))


class ApprovalStrategy(RequestStrategy):
    """`/approval`: for those who decide. They set conditions and nothing else."""

    may_decide = True

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        status = old.get("status") or {}
        conditions = (obj.get("status") or {}).get("conditions") or []
        _set_times(conditions, status.get("conditions") or [], request.timestamp)
        obj["spec"] = old["spec"]
        obj["status"] = {**status, "conditions": conditions} if conditions else dict(status)

    def reset_fields(self) -> Sequence[tuple[str, ...]]:
        return (("spec",), ("status", "certificate"))


def _keep_instances(after: list[Object], before: list[Object], kind: str) -> None:
    """Whoever sends back conditions that it did not write, changes none of them."""
    old = [one for one in before if one.get("type") == kind]
    places = [position for position, one in enumerate(after) if one.get("type") == kind]
    if len(old) == len(places):
        for position, condition in zip(places, old, strict=True):
            after[position] = condition


def _set_times(after: list[Object], before: list[Object], now: str) -> None:
    for condition in after:
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
        if not condition.get("lastTransitionTime"):
            same = (one for one in before if all(one.get(key) == condition.get(key) for key in ("type", "status")))
            known = (one["lastTransitionTime"] for one in same if one.get("lastTransitionTime"))
            condition["lastTransitionTime"] = next(known, now)


# --- Validation -----------------------------------------------------------------------------------------------------


def _errors(obj: Object, old: Object | None) -> list[FieldError]:
    return [*_spec_errors(obj.get("spec") or {}, old), *_condition_errors(obj, old), *_certificate_errors(obj, old)]


def _spec_errors(spec: Object, old: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    try:
        parse(spec.get("request") or "")
    except InvalidRequest as error:
        errors.append(FieldError.invalid(_SPEC.child("request"), spec.get("request") or "", str(error)))
    usages = spec.get("usages") or []
    if not usages:
        errors.append(FieldError.required(_SPEC.child("usages")))
    if old is None:
        errors += _usage_errors(usages)
    errors += _signer_errors(spec.get("signerName") or "", old)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(FieldError.invalid(_SPEC.child("expirationSeconds"), seconds, detail))
    return errors


def _usage_errors(usages: Sequence[str]) -> list[FieldError]:
    path = _SPEC.child("usages")
    unknown = [
        FieldError.not_supported(path.index(position), usage, sorted(USAGES))
        for position, usage in enumerate(usages)
        if usage not in USAGES
    ]
    repeated = [
        FieldError.duplicate(path.index(position), usage)
        for position, usage in enumerate(usages)
        if usage in usages[:position]
    ]
    return unknown + repeated


def _signer_errors(name: str, old: Object | None) -> list[FieldError]:
    path = _SPEC.child("signerName")
    if name == LEGACY_UNKNOWN:
        known = old is not None and old["spec"].get("signerName") == LEGACY_UNKNOWN
        detail = "the legacy signerName is not allowed via this API version"
        return [] if known else [FieldError.invalid(path, name, detail)]
    if not name:
        return [FieldError.required(path)]
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [FieldError.invalid(path, name, detail)]
    complaints = [FieldError.invalid(path, domain, why) for why in dns1123_subdomain_errors(domain)]
    if "." not in domain:
        detail = "should be a domain with at least two segments separated by dots"
        complaints.append(FieldError.invalid(path, domain, detail))
    for part in rest.split("."):
        complaints += [FieldError.invalid(path, rest, why) for why in dns1123_label_errors(part)]
    return complaints


def _condition_errors(obj: Object, old: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    known = {one.get("type") for one in ((old or {}).get("status") or {}).get("conditions") or ()}
    seen: set[str] = set()
    for position, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        at, kind, status = _CONDITIONS.index(position), condition.get("type", ""), condition.get("status", "")
        if not kind:
            errors.append(FieldError.required(at.child("type")))
        allowed = ["True"] if kind in _FINAL else ["False", "True", "Unknown"]
        if not status:
            errors.append(FieldError.required(at.child("status")))
        elif status not in allowed:
            errors.append(FieldError.not_supported(at.child("status"), status, allowed))
        if (
            kind in ("Approved", "Denied")
            and {"Approved", "Denied"} <= seen | {kind}
            and not {"Approved", "Denied"} <= known
        ):
            detail = "Approved and Denied conditions are mutually exclusive"
            errors.append(FieldError.invalid(_CONDITIONS, kind, detail))
        if kind in seen:
            errors.append(FieldError.duplicate(at.child("type"), kind))
        seen.add(kind)
    return errors


def _certificate_errors(obj: Object, old: Object | None) -> list[FieldError]:
    certificate = _certificate(obj)
    if not certificate or (old is not None and _certificate(old) == certificate):
        return []
    try:
        x509.load_pem_x509_certificates(base64.b64decode(certificate, validate=True))
    except (binascii.Error, ValueError):
        why = "must contain at least one CERTIFICATE PEM block"
        return [FieldError.invalid(_CERTIFICATE, "<certificate data>", why)]
    return []


def _change_errors(obj: Object, old: Object, *, may_decide: bool, may_sign: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in _FINAL:
        before, after = _of_type(old, kind), _of_type(obj, kind)
        if len(after) < len(before):
            detail = f'updates may not remove a condition of type "{kind}"'
        elif kind == "Failed" or may_decide:
            continue
        elif len(after) > len(before):
            detail = f'updates may not add a condition of type "{kind}"'
        elif after != before:
            detail = f'updates may not modify a condition of type "{kind}"'
        else:
            continue
        errors.append(FieldError.forbidden(_CONDITIONS, detail))
    if _certificate(obj) != _certificate(old):
        if not may_sign:
            errors.append(FieldError.forbidden(_CERTIFICATE, "updates may not set certificate content"))
        elif _certificate(old):
            errors.append(FieldError.forbidden(_CERTIFICATE, "updates may not modify existing certificate content"))
    return errors


def _certificate(obj: Object) -> str:
    return (obj.get("status") or {}).get("certificate") or ""


def _of_type(obj: Object, kind: str) -> list[Object]:
    return [one for one in (obj.get("status") or {}).get("conditions") or () if one.get("type") == kind]
