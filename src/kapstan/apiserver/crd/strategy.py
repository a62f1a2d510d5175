"""The strategies of custom resources: what a CustomResourceDefinition says about them beyond their schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.crd.jsonpath import JSONPath, compile_path, printed
from kapstan.apiserver.strategy.age import age
from kapstan.apiserver.strategy.base import NAME_COLUMN, Object, StatusStrategy, Strategy, TableColumn
from kapstan.machinery.golang import format_value, quote
from kapstan.machinery.names import qualified_name_errors

if TYPE_CHECKING:
    from kapstan.apiserver.request import Request

__all__ = ("CustomStatusStrategy", "CustomStrategy")

_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")
_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


class CustomStrategy(Strategy):
    """The main endpoint of a custom resource in one version."""

    has_generation = True
    allow_unconditional_update = False

    def __init__(self, version: Mapping[str, Any]) -> None:
        """`version` is an entry of `spec.versions`."""
        self.has_status = "status" in (version.get("subresources") or {})
        self._fields = {_name(path): compile_path(path) for path in _selectable(version)}
        self.selectable_fields = tuple(self._fields)
        columns = version.get("additionalPrinterColumns") or [_AGE]
        try:
            self._cells = _compiled(columns)
        except ValueError:
            columns = [_AGE]
            self._cells = _compiled(columns)
        self.columns = (NAME_COLUMN, *map(_column, columns))

    def desires_differ(self, obj: Object, old: Object) -> bool:
        """Everything but metadata counts; the status is the old one here, if it has an endpoint of its own."""
        return any(obj.get(name) != old.get(name) for name in obj.keys() | old.keys() if name != "metadata")

    def warnings(self, request: Request, obj: Object, old: Object | None) -> Sequence[str]:
        before = old["metadata"].get("finalizers") or () if old is not None else ()
        added = sorted(set(obj["metadata"].get("finalizers") or ()) - set(before))
        return [text for name in added for text in _finalizer_warnings(name)]

    def fields(self, obj: Object) -> Mapping[str, str]:
        found = {name: path.first(obj) for name, path in self._fields.items()}
        return {name: "" if value is None else format_value(value) for name, value in found.items()}

    def cells(self, obj: Object, now: datetime) -> list[Any]:
        return [obj["metadata"].get("name", ""), *(_cell(type, path, obj, now) for type, path in self._cells)]


class CustomStatusStrategy(StatusStrategy):
    """`/status` of a custom resource: everything but the status stays as it was."""

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        sent = {name: obj[name] for name in ("status",) if name in obj}
        managed_fields = obj["metadata"].get("managedFields")
        obj.clear()
        obj.update((name, value) for name, value in old.items() if name != "status")
        obj.update(sent)
        obj["metadata"] = dict(old["metadata"])
        if managed_fields is not None:
            obj["metadata"]["managedFields"] = managed_fields
        else:
            obj["metadata"].pop("managedFields", None)

    def reset_fields(self) -> Sequence[tuple[str, ...]]:
        return (("metadata",), ("spec",))


def _compiled(columns: Sequence[Mapping[str, Any]]) -> list[tuple[str, JSONPath]]:
    return [(column["type"], compile_path(column["jsonPath"])) for column in columns]


def _selectable(version: Mapping[str, Any]) -> list[str]:
    return [field["jsonPath"] for field in version.get("selectableFields") or ()]


def _name(path: str) -> str:
    """`.spec.colour` is selected as `spec.colour`."""
    return path.removeprefix(".")


def _column(column: Mapping[str, Any]) -> TableColumn:
    path = column["jsonPath"]
    return TableColumn(
        column["name"],
        type=column["type"],
        format=column.get("format") or "",
        description=column.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
        priority=column.get("priority") or 0,
    )


def _cell(type: str, path: JSONPath, obj: Object, now: datetime) -> Any:
    value = path.first(obj)
    if value is None:
        return None
    if type == "string":
        return printed(value)
    if type == "date":
        return age(value, now) if isinstance(value, str) else None
    if type == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if type == "integer" else float(value)


def _finalizer_warnings(name: str) -> list[str]:
    at = f"metadata.finalizers: {quote(name)}"
    found = [f"{at}: {complaint}" for complaint in qualified_name_errors(name)]
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in name else ""
        advice = f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts"
        found.append(f"{at}: {advice} with other finalizer writers")
    return found
