"""Match conditions: CEL expressions about a write that keep a webhook from being called.

One that is false decides, whatever becomes of the others. One that cannot be evaluated refuses the write, or is as good
as false if the webhook's failurePolicy is Ignore.
"""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.webhook.configuration import Hook
from kapstan.apiserver.admission.webhook.invocation import Invocation
from kapstan.apiserver.authz.interface import Authorizer, forbidden_object

__all__ = ("Conditions",)

Object = dict[str, Any]


class Conditions:
    """The match conditions of one logical cluster's webhooks."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def hold(
        self,
        hook: Hook,
        attributes: AdmissionAttributes,
        invocation: Invocation,
        obj: Object | None,
        old: Object | None,
    ) -> bool:
        """Whether all are true. Forbidden if that cannot be said and the webhook must not fail open."""
        if not hook.conditions:
            return True
        from kapstan.apiserver.admission.webhook.evaluation import Undecided, conditions_hold

        try:
            return await conditions_hold(hook, self._authorizer, attributes, invocation, obj, old)
        except Undecided as error:
            if hook.ignores_failure:
                return False
            raise forbidden_object(attributes.kind.gvr.group_resource, attributes.name, str(error)) from None
