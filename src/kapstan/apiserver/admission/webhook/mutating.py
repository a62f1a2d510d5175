"""Mutating webhooks: called one after the other, each seeing what those before it made of the object.

If one of them changed it, the whole chain of admission runs a second time, and those that asked for it
(`reinvocationPolicy: IfNeeded`) are called again for what others changed after them.
"""

from __future__ import annotations

import json
from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.reinvocation import Reinvocation
from kapstan.apiserver.admission.versions import Changing
from kapstan.apiserver.admission.webhook.conditions import Conditions
from kapstan.apiserver.admission.webhook.configuration import MUTATING, Hook, Webhooks
from kapstan.apiserver.admission.webhook.dispatch import Dispatcher, HookFailed
from kapstan.apiserver.admission.webhook.invocation import Invocation, Matcher, kind_of
from kapstan.apiserver.admission.webhook.review import BadResponse, Response
from kapstan.apiserver.registry import errors
from kapstan.apiserver.registry.objects import clone, same
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery.errors import APIError
from kapstan.machinery.golang import quote
from kapstan.machinery.patch import apply_json_patch

__all__ = ("MutatingWebhooks", "Mutation")

Object = dict[str, Any]


class MutatingWebhooks:
    """The mutating webhooks of one logical cluster."""

    def __init__(self, storage: Storage, dispatcher: Dispatcher, conditions: Conditions) -> None:
        self.matcher = Matcher(storage, Webhooks(storage, MUTATING))
        self.dispatcher = dispatcher
        self.conditions = conditions

    def mutation(self, attributes: AdmissionAttributes) -> Mutation | None:
        """One write's way through the webhooks; None if there is none for it."""
        return Mutation(self, attributes) if self.matcher.candidates(attributes) else None


class Mutation:
    """One write's way through the webhooks, which may be gone twice."""

    def __init__(self, webhooks: MutatingWebhooks, attributes: AdmissionAttributes) -> None:
        self._webhooks = webhooks
        self._attributes = attributes
        self._reinvocation = Reinvocation()

    @property
    def changed(self) -> bool:
        return self._reinvocation.changed

    async def run(self) -> None:
        """One round; the second one calls only those who have to see what changed since."""
        attributes = self._attributes
        self._reinvocation.begin(attributes.object)
        versions = _Patching(attributes)
        for invocation in self._webhooks.matcher.candidates(attributes):
            await self._invoke(invocation, versions)
        attributes.object = await versions.settled()
        self._reinvocation.finish(attributes.object)

    async def _invoke(self, invocation: Invocation, versions: _Patching) -> None:
        hook, attributes = invocation.hook, self._attributes
        attributes.object = versions.object  # selectors and conditions look at what webhooks made of it
        if not self._reinvocation.calls(hook.uid) or not self._webhooks.matcher.selects(hook, attributes):
            return
        obj, old = await versions.seen_by(invocation.kind)
        if not await self._webhooks.conditions.hold(hook, attributes, invocation, obj, old):
            return
        try:
            response = await self._webhooks.dispatcher.ask(attributes, invocation, obj, old, mutating=True)
            if versions.patch(hook, response):
                self._reinvocation.mark_changed()
        except HookFailed as failure:
            self._webhooks.dispatcher.failed(hook, failure)
        if hook.reinvocable:
            self._reinvocation.mark_invoked(hook.uid)


class _Patching(Changing):
    """The object on its way through webhooks, each of which may patch it."""

    def __init__(self, attributes: AdmissionAttributes) -> None:
        super().__init__(attributes)
        self._subresource = attributes.subresource

    def patch(self, hook: Hook, response: Response) -> bool:
        """Apply what a webhook wants changed; whether that changed anything."""
        operations = _operations(hook, response)
        if not operations:
            return False
        if self.object is None:
            raise errors.internal(
                f"admission webhook {quote(hook.name)} attempted to modify the object, "
                "which is not supported for this operation"
            )
        if response.patch_type != "JSONPatch":
            raise HookFailed(hook, f"unsupported patch type {quote(response.patch_type or '')}")
        patched = self._patched(operations)
        changed = not same(patched, self.object)
        self.object = patched
        return changed

    def _patched(self, operations: list[Any]) -> Object:
        assert self.object is not None
        gvk = kind_of(self.kind, self._subresource)
        try:
            patched = clone(apply_json_patch(self.object, operations))
            self._check(patched)
            if gvk == self.kind.gvk:
                self.kind.intake.shape(patched)
        except APIError as error:
            raise errors.internal(str(error)) from error
        return patched

    def _check(self, patched: Any) -> None:
        """A patch may not turn the object into something else."""
        before = self.object
        assert before is not None
        if not isinstance(patched, dict) or not isinstance(patched.get("metadata"), dict):
            raise errors.unclassified("the patch does not leave an object with metadata")
        for field in ("apiVersion", "kind"):
            if patched.get(field) != before.get(field):
                shown = f"from {quote(str(before.get(field)))} to {quote(str(patched.get(field)))}"
                raise errors.unclassified(f"the patch changes {field} {shown}")


def _operations(hook: Hook, response: Response) -> list[Any]:
    if not response.patch:
        return []
    undecodable = "received undecodable patch in webhook response"
    try:
        operations = json.loads(response.operations())
    except BadResponse as error:
        raise HookFailed(hook, str(error)) from error
    except ValueError as error:
        raise HookFailed(hook, f"{undecodable}: {error}") from error
    if not isinstance(operations, list):
        raise HookFailed(hook, f"{undecodable}: a JSON patch is a list of operations")
    return operations
