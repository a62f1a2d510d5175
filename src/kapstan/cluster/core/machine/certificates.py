"""When the certificates of a control plane machine expire, as its annotation or that of its bootstrap object says."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from kapstan.cluster.core.machine.scope import Scope
from kapstan.cluster.skeleton import labels
from kapstan.machinery.errors import KapstanError
from kapstan.runtime.reconcile import Outcome

__all__ = ("BadAnnotation", "reconcile_certificate_expiry")


class BadAnnotation(KapstanError):
    """An annotation does not say what it should."""


async def reconcile_certificate_expiry(scope: Scope) -> Outcome:
    if not scope.is_control_plane:
        return None
    config = scope.bootstrap.found if scope.bootstrap is not None else None
    own = scope.machine.metadata.annotations.get(labels.CERTIFICATES_EXPIRY)
    text = own or (config.annotations.get(labels.CERTIFICATES_EXPIRY) if config is not None else None)
    scope.machine.status.certificates_expiry_date = _time(text) if text else None
    return None


def _time(text: str) -> datetime:
    """RFC 3339, as Kubernetes writes times."""
    with suppress(ValueError):
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.replace(microsecond=0)
    example = "2026-12-31T00:00:00Z"
    raise BadAnnotation(f"annotation {labels.CERTIFICATES_EXPIRY}: {text!r} is no time such as {example}")
