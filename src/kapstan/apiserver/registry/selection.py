"""Selection: which objects of a kind a request is about, by namespace, name, labels and fields."""

from __future__ import annotations

from collections.abc import Mapping

from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.objects import decode, ready_view
from kapstan.apiserver.storage.interface import Record
from kapstan.machinery import fields, labels
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.golang import quote
from kapstan.machinery.names import name_is_dns_label

__all__ = ("Selection", "parse_selectors", "select")

_NAME = "metadata.name"
_NAMESPACE = "metadata.namespace"


class Selection:
    """What must hold for an object to be listed or watched."""

    __slots__ = ("_fields", "_kind", "_labels", "_meta_fields", "by_content", "key", "prefix", "trivial")

    def __init__(
        self, kind: ServedKind, namespace: str, labels: labels.Selector, fields_selector: fields.Selector
    ) -> None:
        namespace = namespace or _single_namespace(kind, fields_selector)
        name = fields_selector.exact_match(_NAME)
        self._kind = kind
        self.prefix = kind.storage.prefix(namespace) if kind.namespaced else ""
        # Where only one object can match, its key: looking it up is cheaper than looking through all.
        self.key = kind.storage.key(namespace, name) if name and (namespace or not kind.namespaced) else None
        self._labels = None if labels.empty else labels
        requirements = fields_selector.requirements
        meta = [found for found in requirements if found.field in (_NAME, _NAMESPACE)]
        other = [found for found in requirements if found.field not in (_NAME, _NAMESPACE)]
        self._meta_fields = fields.Selector(meta) if meta else None
        self._fields = fields.Selector(other) if other else None
        # Whether objects must be in the kind's version for it to be told whether they match.
        self.by_content = bool(other)
        self.trivial = labels.empty and not requirements

    def can_tell(self, record: Record) -> bool:
        """Whether `matches` may be asked: what looks into objects needs them in the kind's version."""
        return self._fields is None or ready_view(self._kind, record) is not None

    def matches(self, record: Record) -> bool:
        if self.prefix and not record.key.startswith(self.prefix):
            return False
        if self.trivial:
            return True
        if self._labels is not None and not self._labels.matches(record.labels):
            return False
        if self._meta_fields is not None and not self._meta_fields.matches(
            {_NAME: record.name, _NAMESPACE: record.namespace}
        ):
            return False
        return self._fields is None or self._fields.matches(_fields_of(self._kind, record))


def select(kind: ServedKind, namespace: str, label_selector: str, field_selector: str, name: str = "") -> Selection:
    """Parse what a client sent; BadRequest says what is wrong with it. `name` is that of a watch on one object."""
    by_labels, by_fields = parse_selectors(label_selector, field_selector)
    for requirement in by_fields.requirements:
        _check_field(kind, requirement.field)
    if name:
        if by_fields.empty:
            by_fields = fields.Selector([fields.Requirement(_NAME, name)])
        elif by_fields.exact_match(_NAME) != name:
            raise BadRequest("fieldSelector metadata.name doesn't match requested name")
    return Selection(kind, namespace, by_labels, by_fields)


def parse_selectors(label_selector: str, field_selector: str) -> tuple[labels.Selector, fields.Selector]:
    """Both selectors, whatever fields there are; BadRequest if one of them is none."""
    try:
        by_labels = labels.parse(label_selector) if label_selector else labels.EVERYTHING
        by_fields = fields.parse(field_selector) if field_selector else fields.EVERYTHING
    except ValueError as error:
        raise BadRequest(str(error)) from error
    return by_labels, by_fields


def _check_field(kind: ServedKind, field: str) -> None:
    known = kind.strategy.selectable_fields
    if field == _NAME or field in known:
        return
    if field == _NAMESPACE and (kind.namespaced or not (kind.custom or known)):
        return
    if known or kind.custom:
        raise BadRequest(f"field label not supported: {field}")
    raise BadRequest(f'{quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"')


def _single_namespace(kind: ServedKind, selector: fields.Selector) -> str:
    namespace = selector.exact_match(_NAMESPACE) or ""
    return namespace if kind.namespaced and namespace and not name_is_dns_label(namespace) else ""


def _fields_of(kind: ServedKind, record: Record) -> Mapping[str, str]:
    """The selectable fields of a record in a version, worked out once."""
    if record.fields is None:
        record.fields = {}
    found = record.fields.get(kind)
    if found is None:
        value = ready_view(kind, record)
        assert value is not None, "an object is converted before it is selected by its fields"
        found = record.fields[kind] = kind.strategy.fields(decode(value))
    return found
