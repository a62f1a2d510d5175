"""Certificate signing requests, handled as kube-controller-manager's approver, signers and cleaner handle them."""

from __future__ import annotations

import base64
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509

from kapstan.apiserver.authz.certificates.approval import automatic_approval
from kapstan.apiserver.authz.certificates.request import InvalidRequest, SigningRequest, has_condition
from kapstan.apiserver.authz.certificates.signers import Unacceptable, check, is_known, sign
from kapstan.apiserver.controllers.controller import CollectionController
from kapstan.machinery.gvk import GroupVersionResource

__all__ = ("REQUESTS", "CertificateController", "is_outdated")

logger = logging.getLogger(__name__)

REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")

_CLEAN_EVERY = 3600.0
_DECIDED_FOR = timedelta(hours=1)
_PENDING_FOR = timedelta(hours=24)

Object = dict[str, Any]


class CertificateController(CollectionController):
    """The controller of one cluster. It brings each request as far as it can be brought; the rest is a decision."""

    account = "certificate-controller"
    collection = REQUESTS.group_resource

    async def reconcile(self, name: str, now: datetime | None = None) -> None:
        """Approve what goes without saying, sign what is approved, fail what cannot be signed, delete what is old."""
        now = now or datetime.now(UTC)
        document = await self._api.find(REQUESTS, name)
        if document is None:
            return
        if is_outdated(document, now):
            await self._api.delete(REQUESTS, name)
            return
        self._queue.add_after(name, _CLEAN_EVERY)
        if not _is_open(document):
            return
        try:
            request = SigningRequest(document)
        except InvalidRequest as error:
            logger.warning("certificate signing request %s: %s", name, error)
            return
        if not has_condition(document, "Approved"):
            message = automatic_approval(request, self._cluster.authorizer)
            if not message:
                return
            document = await self._approve(document, message)
        if is_known(request.signer):
            await self._sign(document, request, now)

    async def _approve(self, document: Object, message: str) -> Object:
        condition = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message}
        return await self._api.update(_with_condition(document, condition), subresource="approval")

    async def _sign(self, document: Object, request: SigningRequest, now: datetime) -> None:
        try:
            check(request)
        except Unacceptable as error:
            condition = {
                "type": "Failed",
                "status": "True",
                "reason": "SignerValidationFailure",
                "message": str(error),
                "lastUpdateTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            await self._api.update(_with_condition(document, condition), subresource="status")
            return
        certificate = base64.b64encode(sign(self._cluster.credentials.ca, request, now)).decode()
        status = {**(document.get("status") or {}), "certificate": certificate}
        await self._api.update({**document, "status": status}, subresource="status")


def _is_open(document: Object) -> bool:
    decided = has_condition(document, "Denied") or has_condition(document, "Failed")
    return not decided and not (document.get("status") or {}).get("certificate")


def _with_condition(document: Object, condition: Object) -> Object:
    status = document.get("status") or {}
    return {**document, "status": {**status, "conditions": [*(status.get("conditions") or ()), condition]}}


def is_outdated(document: Object, now: datetime) -> bool:
    """Whether a request has served its purpose or outlived its chances, and is to be deleted."""
    status = document.get("status") or {}
    conditions = status.get("conditions") or ()
    issued = status.get("certificate")
    if not conditions:
        return _older(document["metadata"].get("creationTimestamp"), _PENDING_FOR, now)
    if issued and _expired(issued, now) and has_condition(document, "Approved"):
        return True
    patience = {"Denied": _DECIDED_FOR, "Failed": _DECIDED_FOR, "Approved": _DECIDED_FOR if issued else _PENDING_FOR}
    return any(
        one.get("type") in patience and _older(one.get("lastUpdateTime"), patience[one["type"]], now)
        for one in conditions
    )


def _older(time: str | None, age: timedelta, now: datetime) -> bool:
    return time is not None and now - datetime.fromisoformat(time) > age


def _expired(certificate: str, now: datetime) -> bool:
    try:
        found = x509.load_pem_x509_certificate(base64.b64decode(certificate))
    except ValueError:
        return False
    return found.not_valid_after_utc < now
