"""Asking one webhook about one write."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.webhook.client import CallFailed, ServiceResolver, WebhookClient
from kapstan.apiserver.admission.webhook.configuration import Hook
from kapstan.apiserver.admission.webhook.invocation import Invocation
from kapstan.apiserver.admission.webhook.review import BadResponse, Response, Review
from kapstan.apiserver.registry import errors
from kapstan.machinery import codec
from kapstan.machinery.errors import APIError, BadRequest, from_status
from kapstan.machinery.golang import quote
from kapstan.machinery.meta import Status

__all__ = ("Dispatcher", "HookFailed")

logger = logging.getLogger(__name__)

Object = dict[str, Any]


class HookFailed(Exception):
    """The webhook gave no usable answer; whether the write fails with it is the webhook's failurePolicy."""

    def __init__(self, hook: Hook, reason: str) -> None:
        super().__init__(f"failed calling webhook {quote(hook.name)}: {reason}")


class Dispatcher:
    """Calls webhooks for one logical cluster."""

    def __init__(self, client: WebhookClient, resolve: ServiceResolver) -> None:
        self._client = client
        self._resolve = resolve

    async def ask(
        self,
        attributes: AdmissionAttributes,
        invocation: Invocation,
        obj: Object | None,
        old: Object | None,
        *,
        mutating: bool,
    ) -> Response:
        """The webhook's permission. HookFailed if it cannot be had, an APIError if it is refused."""
        hook = invocation.hook
        if attributes.dry_run:
            _check_side_effects(hook)
        try:
            review = Review(attributes, invocation, obj, old)
            body = msgspec.json.encode(review.document)
            answer = await self._client.call(hook.client, body, timeout=hook.timeout, resolve=self._resolve)
            response = review.response(answer, mutating=mutating)
        except CallFailed as error:
            raise HookFailed(hook, f"failed to call webhook: {error}") from error
        except BadResponse as error:
            raise HookFailed(hook, str(error)) from error
        for warning in response.warnings:
            if warning.isprintable():  # a header cannot carry others
                attributes.request.warn(warning)
        if not response.allowed:
            raise denied(hook, response.status)
        return response

    def failed(self, hook: Hook, failure: HookFailed) -> None:
        """Raise what a failure means for the write, or let it pass."""
        if not hook.ignores_failure:
            raise errors.internal(str(failure)) from failure
        logger.warning("%s; the write goes on, as its failurePolicy is Ignore", failure)


def _check_side_effects(hook: Hook) -> None:
    """A rehearsal may only ask those who do nothing."""
    if hook.side_effects is None:
        raise HookFailed(hook, "Webhook SideEffects is nil")
    if hook.side_effects not in ("None", "NoneOnDryRun"):
        raise BadRequest(f"admission webhook {quote(hook.name)} does not support dry run")


def denied(hook: Hook, status: Object | None) -> APIError:
    """The refusal as the client sees it: the webhook's own status, completed."""
    try:
        found = codec.convert(status or {}, Status)
    except msgspec.ValidationError:
        found = Status()
    by = f"admission webhook {quote(hook.name)} denied the request"
    found.status = "Failure"
    found.code = max(found.code, 400)
    why = found.message or found.reason
    found.message = f"{by}: {why}" if why else f"{by} without explanation"
    return from_status(found)
