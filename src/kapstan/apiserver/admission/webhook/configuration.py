"""Webhook configurations as the server uses them: parsed once, in the order in which they are called."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from msgspec import Struct, field

from kapstan.apiserver.storage.interface import Event, Record, Storage
from kapstan.machinery import codec, labels
from kapstan.machinery.gvk import GroupResource

__all__ = ("MUTATING", "VALIDATING", "ClientConfig", "Hook", "MatchCondition", "Rule", "ServiceReference", "Webhooks")

MUTATING = GroupResource("admissionregistration.k8s.io", "mutatingwebhookconfigurations")
VALIDATING = GroupResource("admissionregistration.k8s.io", "validatingwebhookconfigurations")


class ServiceReference(Struct, frozen=True):
    """A Service in the cluster that the webhook is behind."""

    namespace: str
    name: str
    path: str = ""
    port: int = 443


class ClientConfig(Struct, frozen=True, rename="camel"):
    """How to reach a webhook."""

    url: str = ""
    service: ServiceReference | None = None
    ca_bundle: str = ""  # base64 of PEM


class Rule(Struct, frozen=True, rename="camel"):
    """Which writes a webhook or a policy wants to see."""

    operations: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str = "*"
    resource_names: tuple[str, ...] = ()  # only of policies; none means all


class MatchCondition(Struct, frozen=True):
    """A CEL expression that must be true for the webhook to be called."""

    name: str
    expression: str


class _Webhook(Struct, frozen=True, rename="camel"):
    name: str
    client_config: ClientConfig
    rules: tuple[Rule, ...] = ()
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    match_policy: Literal["Exact", "Equivalent"] = "Equivalent"
    namespace_selector: dict[str, Any] | None = None
    object_selector: dict[str, Any] | None = None
    side_effects: str | None = None
    timeout_seconds: int = 10
    admission_review_versions: tuple[str, ...] = ()
    reinvocation_policy: Literal["Never", "IfNeeded"] = "Never"
    match_conditions: tuple[MatchCondition, ...] = ()


class _Configuration(Struct, frozen=True):
    webhooks: tuple[_Webhook, ...] = field(default=())


class Hook:
    """One webhook of one configuration."""

    def __init__(self, configuration: str, position: int, webhook: _Webhook) -> None:
        self.uid = (configuration, position)
        self.name = webhook.name
        self.client = webhook.client_config
        self.rules = webhook.rules
        self.ignores_failure = webhook.failure_policy == "Ignore"
        self.equivalent = webhook.match_policy == "Equivalent"
        self.side_effects = webhook.side_effects
        self.timeout = webhook.timeout_seconds
        self.versions = webhook.admission_review_versions
        self.reinvocable = webhook.reinvocation_policy == "IfNeeded"
        self.conditions = webhook.match_conditions
        self._webhook = webhook

    @cached_property
    def namespace_selector(self) -> labels.Selector:
        """An absent one selects everything here."""
        return labels.from_label_selector(self._webhook.namespace_selector or {})

    @cached_property
    def object_selector(self) -> labels.Selector:
        return labels.from_label_selector(self._webhook.object_selector or {})

    def __repr__(self) -> str:
        return f"Hook({self.name})"


class Webhooks:
    """The webhooks of one kind of configuration, current with every write to them.

    Configurations come by name, webhooks in the order of their configuration: that is the order of calls.
    """

    def __init__(self, storage: Storage, kind: GroupResource) -> None:
        self._storage = storage
        self._kind = kind
        self._hooks: tuple[Hook, ...] | None = None
        self._parsed: dict[str, tuple[int, list[Hook]]] = {}  # what is expensive in a hook outlives others' changes
        self._observing = False
        self.generation = 0

    def __call__(self) -> tuple[Hook, ...]:
        if self._hooks is None:
            if not self._observing:
                self._observing = True
                self._storage.observe(self._changed, self._kind)
            records = self._storage.list(self._kind)
            self._parsed = {record.name: self._parse(record) for record in records}
            self._hooks = tuple(hook for _, hooks in self._parsed.values() for hook in hooks)
        return self._hooks

    def _changed(self, event: Event) -> None:
        self._hooks = None
        self.generation += 1

    def _parse(self, record: Record) -> tuple[int, list[Hook]]:
        known = self._parsed.get(record.name)
        if known is not None and known[0] == record.revision:
            return known
        configuration = codec.decode(record.value, _Configuration)
        hooks = [Hook(record.name, position, one) for position, one in enumerate(configuration.webhooks)]
        return record.revision, hooks
