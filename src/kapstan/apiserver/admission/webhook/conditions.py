"""Match conditions: CEL expressions that keep a webhook from being called."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.webhook.configuration import Hook
from kapstan.apiserver.admission.webhook.invocation import Invocation

__all__ = ("Conditions",)

Object = dict[str, Any]


class Conditions:
    """Evaluates the match conditions of one logical cluster's webhooks."""

    def hold(
        self,
        hook: Hook,
        attributes: AdmissionAttributes,
        invocation: Invocation,
        obj: Object | None,
        old: Object | None,
    ) -> bool:
        """Whether all are true. Forbidden if one cannot be evaluated and the webhook must not fail open."""
        return not hook.conditions
