"""Validating webhooks: all are asked at once, and each may refuse."""

from __future__ import annotations

import asyncio
from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.webhook.conditions import Conditions
from kapstan.apiserver.admission.webhook.configuration import VALIDATING, Webhooks
from kapstan.apiserver.admission.webhook.dispatch import Dispatcher, HookFailed, converted
from kapstan.apiserver.admission.webhook.invocation import Invocation, Matcher
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery.errors import APIError

__all__ = ("ValidatingWebhooks",)

Object = dict[str, Any]
_Pair = tuple[Object | None, Object | None]


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
        seen: dict[ServedKind, _Pair] = {attributes.kind: (attributes.object, attributes.old)}
        chosen = [one for one in candidates if await self._chosen(attributes, one, seen)]
        refusals: list[APIError] = []
        async with asyncio.TaskGroup() as group:
            for invocation in chosen:
                group.create_task(self._ask(attributes, invocation, seen[invocation.kind], refusals))
        if refusals:
            raise refusals[0]

    async def _chosen(
        self, attributes: AdmissionAttributes, invocation: Invocation, seen: dict[ServedKind, _Pair]
    ) -> bool:
        if not self._matcher.selects(invocation.hook, attributes):
            return False
        if invocation.kind not in seen:
            written, wanted = attributes.kind, invocation.kind
            pair = [
                await converted(obj, written, wanted) if obj is not None else None
                for obj in (attributes.object, attributes.old)
            ]
            seen[wanted] = (pair[0], pair[1])
        return self._conditions.hold(invocation.hook, attributes, invocation, *seen[invocation.kind])

    async def _ask(
        self, attributes: AdmissionAttributes, invocation: Invocation, seen: _Pair, refusals: list[APIError]
    ) -> None:
        try:
            try:
                await self._dispatcher.ask(attributes, invocation, *seen, mutating=False)
            except HookFailed as failure:
                self._dispatcher.failed(invocation.hook, failure)
        except APIError as refusal:
            refusals.append(refusal)
