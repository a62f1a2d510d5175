"""Whether a webhook is called for a write, and in which version it sees the object.

Rules first, then selectors, then match conditions: the cheap questions before the expensive ones. A webhook whose rules
name another version of the same resource is called with the object converted to that, unless it wants exact matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.webhook.configuration import Hook, Rule, Webhooks
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry import errors
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery.gvk import GroupResource, GroupVersionKind
from kapstan.machinery.labels import Selector

__all__ = (
    "Hit",
    "Invocation",
    "Matcher",
    "Remembered",
    "Selective",
    "admission_name",
    "admission_namespace",
    "hits",
    "kind_of",
    "selects",
)

_NAMESPACES = GroupResource("", "namespaces")
_EXEMPT_GROUP = "admissionregistration.k8s.io"
_EXEMPT = frozenset(
    {
        "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    }
)

Object = dict[str, Any]
T = TypeVar("T")


class Selective(Protocol):
    """What wants to see writes with certain labels only."""

    @property
    def namespace_selector(self) -> Selector: ...

    @property
    def object_selector(self) -> Selector: ...


class Hit(NamedTuple):
    """A rule that a write matches, and the kind in whose version it does."""

    rule: Rule
    kind: ServedKind


class Invocation(NamedTuple):
    """A call to make: the webhook, and the kind in whose version it wants to see the object."""

    hook: Hook
    kind: ServedKind


def kind_of(kind: ServedKind, subresource: str) -> GroupVersionKind:
    """What is written: a subresource such as `scale` has a kind of its own."""
    below = kind.subresources.get(subresource) if subresource else None
    return below.gvk if below is not None else kind.gvk


def admission_namespace(attributes: AdmissionAttributes) -> str:
    """Namespaces are in themselves."""
    if attributes.kind.gvr.group_resource == _NAMESPACES:
        return attributes.name
    return attributes.namespace


def admission_name(attributes: AdmissionAttributes) -> str:
    """Whoever deletes a collection names nothing, and Kubernetes passes that on for each object."""
    return "" if attributes.request.verb == "deletecollection" else attributes.name


class Remembered(Generic[T]):
    """What rules select, by the sort of write: it depends on nothing but kinds and configurations."""

    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], tuple[T, ...]] = {}
        self._generation = (-1, -1)

    def of(self, attributes: AdmissionAttributes, generation: int, find: Callable[[], Iterable[T]]) -> tuple[T, ...]:
        """What was found for such a write in this generation of configurations, or is found now."""
        current = (generation, attributes.request.cluster.kinds.generation)
        if current != self._generation:
            self._found.clear()
            self._generation = current
        key = (attributes.kind, attributes.subresource, attributes.operation, bool(admission_namespace(attributes)))
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = tuple(find())
        return found


class Matcher:
    """Selects the webhooks of one kind of configuration."""

    def __init__(self, storage: Storage, webhooks: Webhooks) -> None:
        self._storage = storage
        self._webhooks = webhooks
        self._candidates = Remembered[Invocation]()

    def candidates(self, attributes: AdmissionAttributes) -> tuple[Invocation, ...]:
        """What rules select, in the order of calls."""
        hooks = self._webhooks()
        if not hooks or _exempt(attributes.kind):
            return ()
        return self._candidates.of(attributes, self._webhooks.generation, lambda: _invocations(hooks, attributes))

    def selects(self, hook: Hook, attributes: AdmissionAttributes) -> bool:
        """Whether namespace and object have the labels that the webhook wants."""
        return selects(hook, attributes, self._storage)


def selects(selective: Selective, attributes: AdmissionAttributes, storage: Storage) -> bool:
    """Whether namespace and object have the labels that are wanted."""
    return _selects_namespace(selective, attributes, storage) and _selects_object(selective, attributes)


def _selects_namespace(selective: Selective, attributes: AdmissionAttributes, storage: Storage) -> bool:
    namespace, selector = admission_namespace(attributes), selective.namespace_selector
    is_namespace = attributes.kind.gvr.resource == "namespaces"
    if (not namespace and not is_namespace) or selector.empty:
        return True
    if is_namespace and not attributes.subresource and attributes.object is not None:
        return selector.matches(attributes.object["metadata"].get("labels"))
    record = storage.get(_NAMESPACES, namespace)
    if record is None:
        raise errors.not_found(_NAMESPACES, namespace)
    return selector.matches(record.labels)


def _selects_object(selective: Selective, attributes: AdmissionAttributes) -> bool:
    selector = selective.object_selector
    if selector.empty:
        return True
    return any(
        obj is not None and selector.matches((obj.get("metadata") or {}).get("labels"))
        for obj in (attributes.object, attributes.old)
    )


def _exempt(kind: ServedKind) -> bool:
    """Webhooks never decide about webhooks: a broken one could not be removed any more."""
    return kind.gvr.group == _EXEMPT_GROUP and kind.gvr.resource in _EXEMPT


def _invocations(hooks: tuple[Hook, ...], attributes: AdmissionAttributes) -> Iterator[Invocation]:
    for hook in hooks:
        hit = next(hits(hook.rules, attributes, equivalent=hook.equivalent), None)
        if hit is not None:
            yield Invocation(hook, hit.kind)


def hits(rules: Sequence[Rule], attributes: AdmissionAttributes, *, equivalent: bool) -> Iterator[Hit]:
    """The rules that a write matches: first as it is, then as a write to other versions of the same resource.

    Names are left out of it: what rules select depends on nothing but kinds and operations.
    """
    for rule in rules:
        if _matches(rule, attributes, attributes.kind):
            yield Hit(rule, attributes.kind)
    if equivalent:
        others = _equivalents(attributes)
        for rule in rules:
            for kind in others:
                if _matches(rule, attributes, kind):
                    yield Hit(rule, kind)


def _equivalents(attributes: AdmissionAttributes) -> list[ServedKind]:
    """The other versions and groups under which the same objects are served."""
    written = attributes.kind
    return [
        kind
        for kind in attributes.request.cluster.kinds
        if kind.storage is written.storage
        and kind is not written
        and (not attributes.subresource or attributes.subresource in kind.subresources)
    ]


def _matches(rule: Rule, attributes: AdmissionAttributes, kind: ServedKind) -> bool:
    group, version, _ = kind.gvr
    return (
        _has(rule.operations, attributes.operation)
        and _has(rule.api_groups, group)
        and _has(rule.api_versions, version)
        and _matches_resource(rule, kind.gvr.resource, attributes.subresource)
        and _matches_scope(rule, attributes, kind)
    )


def _has(wanted: tuple[str, ...], value: str) -> bool:
    return "*" in wanted or value in wanted


def _matches_resource(rule: Rule, resource: str, subresource: str) -> bool:
    for wanted in rule.resources:
        name, _, below = wanted.partition("/")
        if name in ("*", resource) and below in ("*", subresource):
            return True
    return False


def _matches_scope(rule: Rule, attributes: AdmissionAttributes, kind: ServedKind) -> bool:
    if rule.scope == "*":
        return True
    in_cluster = kind.gvr.group_resource == _NAMESPACES or not attributes.namespace
    return in_cluster is (rule.scope == "Cluster")
