"""Validating webhooks: all are asked at once, and each may refuse."""

from __future__ import annotations

import asyncio

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.versions import Pair, Seen
from kapstan.apiserver.admission.webhook.conditions import Conditions
from kapstan.apiserver.admission.webhook.configuration import VALIDATING, Webhooks
from kapstan.apiserver.admission.webhook.dispatch import Dispatcher, HookFailed
from kapstan.apiserver.admission.webhook.invocation import Invocation, Matcher
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery.errors import APIError

__all__ = ("ValidatingWebhooks",)


class ValidatingWebhooks:
    """The validating webhooks of one logical cluster."""

    def __init__(self, storage: Storage, dispatcher: Dispatcher, conditions: Conditions) -> None:
        self._matcher = Matcher(storage, Webhooks(storage, VALIDATING))
        self._dispatcher = dispatcher
        self._conditions = conditions

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """The first refusal is raised, when all have answered."""
        candidates = self._matcher.candidates(attributes)
        if not candidates:
            return
        seen = Seen(attributes)
        chosen = [one for one in candidates if await self._chosen(attributes, one, seen)]
        refusals: list[APIError] = []
        async with asyncio.TaskGroup() as group:
            for invocation in chosen:
                group.create_task(self._ask(attributes, invocation, await seen.by(invocation.kind), refusals))
        if refusals:
            raise refusals[0]

    async def _chosen(self, attributes: AdmissionAttributes, invocation: Invocation, seen: Seen) -> bool:
        if not self._matcher.selects(invocation.hook, attributes):
            return False
        obj, old = await seen.by(invocation.kind)
        return await self._conditions.hold(invocation.hook, attributes, invocation, obj, old)

    async def _ask(
        self, attributes: AdmissionAttributes, invocation: Invocation, seen: Pair, refusals: list[APIError]
    ) -> None:
        try:
            try:
                await self._dispatcher.ask(attributes, invocation, *seen, mutating=False)
            except HookFailed as failure:
                self._dispatcher.failed(invocation.hook, failure)
        except APIError as refusal:
            refusals.append(refusal)
