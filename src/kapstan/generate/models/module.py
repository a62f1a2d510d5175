"""One Python module for each group and version: a class for every object in the schemas of its kinds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import indent
from typing import Any

from kapstan.generate.descriptions import unwrap
from kapstan.generate.models.hints import hint_of, rule_arguments
from kapstan.generate.models.naming import class_name, field_name, needs_alias

__all__ = ("models_of",)

Document = dict[str, Any]

_FROM = {
    "typing": ("Annotated", "Any", "Literal"),
    "msgspec": ("Meta", "field"),
    "kapstan.machinery.markers": (
        "CEL", "Default", "Format", "Keywords", "ListAtomic", "ListMap", "ListSet", "MapAtomic", "MapGranular",
        "MaxProperties", "MinProperties", "Nullable", "PreserveUnknown", "Schemaless",
    ),
    "kapstan.machinery.meta": ("Condition", "Int32", "Int64", "IntOrString", "ObjectMeta", "Quantity", "Time"),
    "kapstan.machinery.model": ("Column", "Model", "Resource", "Scale"),
    "kapstan.machinery.rules": ("cel", "schema_keywords"),
    "kapstan.machinery.scheme": ("resource",),
}  # fmt: skip
_EVERY_KIND_HAS = ("apiVersion", "kind", "metadata")
_ROOT_KEYWORDS = ("minProperties", "maxProperties", "x-kubernetes-map-type")


def models_of(definitions: Iterable[Document]) -> dict[tuple[str, str], str]:
    """(group, version) → the source of its module. Formatting is left to the caller's formatter."""
    modules: dict[tuple[str, str], _Module] = {}
    for definition in definitions:
        spec = definition["spec"]
        for version in spec["versions"]:
            module = modules.setdefault((spec["group"], version["name"]), _Module(spec["group"], version["name"]))
            module.add(definition, version)
    return {key: module.source() for key, module in sorted(modules.items())}


class _Module:
    """The classes of one group and version, each written once, what is used before what uses it."""

    def __init__(self, group: str, version: str) -> None:
        self.group, self.version = group, version
        self._classes: dict[str, str] = {}

    def add(self, definition: Document, version: Document) -> None:
        kind = definition["spec"]["names"]["kind"]
        schema = version["schema"]["openAPIV3Schema"]
        own = {name: part for name, part in schema["properties"].items() if name not in _EVERY_KIND_HAS}
        body = self._fields({**schema, "properties": own}, kind, of_kind=True)
        if "metadata" in schema.get("required", ()):
            body = f"metadata: ObjectMeta\n{body}"
        text = _decorators(definition, version, schema) + f"class {kind}(Resource):\n"
        self._classes[kind] = text + indent(_docstring(schema.get("description", "")) + body or "pass\n", "    ")

    def source(self) -> str:
        body = "\n\n".join(self._classes.values())
        imports = "\n".join(
            f"from {module} import {', '.join(used)}"
            for module, names in _FROM.items()
            if (used := [name for name in names if re.search(rf"\b{name}\b", body)])
        )
        names = ", ".join(repr(name) for name in sorted(self._classes))
        return (
            f'"""{self.group}/{self.version}, generated from its CRDs by kapstan."""\n\n'
            f"{imports}\n\n__all__ = ({names},)\n\n\n{body}\n"
        )

    def _define(self, schema: Document, name: str) -> str:
        """Write a class, under a name that no other class of the module has, unless the same one is there."""
        body = indent(_docstring(schema.get("description", "")) + self._fields(schema, name), "    ") or "    pass\n"
        chosen, number = name, 1
        while self._classes.get(chosen, text := f"class {chosen}(Model):\n{body}") != text:
            number += 1
            chosen = f"{name}{number}"
        self._classes[chosen] = text
        return chosen

    def _fields(self, schema: Document, owner: str, *, of_kind: bool = False) -> str:
        required = set(schema.get("required", ()))
        lines: list[str] = []
        for json_name, part in schema.get("properties", {}).items():
            text = part.get("description", "")
            if unwrap(text) == text:  # a docstring says it just so; else the text stays an argument, to the letter
                part = {key: value for key, value in part.items() if key != "description"}
            name = field_name(json_name, of_kind=of_kind)
            lines.append(self._field(name, json_name, part, owner, json_name in required))
            lines.append(_docstring(text) if unwrap(text) == text else "")
        return "".join(lines)

    def _field(self, name: str, json_name: str, schema: Document, owner: str, required: bool) -> str:
        hint = hint_of(schema, owner + class_name(json_name), self._define)
        options = [f"name={json_name!r}"] if needs_alias(name, json_name) else []
        if required:
            value = f" = field({options[0]})" if options else ""
            return f"{name}: {hint.text}{value}\n"
        if hint.factory:
            return f"{name}: {hint.text} = field({', '.join([f'default_factory={hint.factory}', *options])})\n"
        value = f"field({', '.join(['default=None', *options])})" if options else "None"
        return f"{name}: {hint.text} | None = {value}\n"


def _docstring(text: str) -> str:
    if not text:
        return ""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    closing = "\n" if "\n" in text or text.endswith('"') else ""
    return f'"""{escaped}{closing}"""\n'


def _decorators(definition: Document, version: Document, schema: Document) -> str:
    keywords = {key: schema[key] for key in _ROOT_KEYWORDS if key in schema}
    extra = f"@schema_keywords(**{keywords!r})\n" if keywords else ""
    rules = "".join(f"@cel({rule_arguments(rule)})\n" for rule in schema.get("x-kubernetes-validations", ()))
    arguments = ", ".join(f"{key}={value}" for key, value in _registration(definition, version).items())
    return f"{extra}{rules}@resource({arguments})\n"


def _registration(definition: Document, version: Document) -> dict[str, str]:
    """The arguments of `@resource`, those that would only repeat a default left out."""
    spec, metadata = definition["spec"], definition["metadata"]
    names = spec["names"]
    found: dict[str, str] = {
        "group": repr(spec["group"]),
        "version": repr(version["name"]),
        "plural": repr(names["plural"]),
        "singular": repr(names.get("singular", names["kind"].lower())),
    }
    if spec["scope"] != "Namespaced":
        found["scope"] = repr(spec["scope"])
    for key, source in (("short_names", names.get("shortNames")), ("categories", names.get("categories"))):
        if source:
            found[key] = repr(tuple(source))
    subresources = version.get("subresources", {})
    found["subresources"] = "('status',)" if "status" in subresources else "()"
    if "scale" in subresources:
        found["scale"] = _scale(subresources["scale"])
    if columns := version.get("additionalPrinterColumns"):
        found["columns"] = f"[{', '.join(_column(column) for column in columns)}]"
    if selectable := version.get("selectableFields"):
        found["selectable"] = repr(tuple(item["jsonPath"] for item in selectable))
    for key in ("storage", "served"):
        if not version[key]:
            found[key] = "False"
    if version.get("deprecated"):
        found["deprecated"] = repr(version.get("deprecationWarning", True))
    for key in ("labels", "annotations"):
        if metadata.get(key):
            found[key] = repr(dict(metadata[key]))
    return found


def _scale(scale: Document) -> str:
    selector = f", selector={scale['labelSelectorPath']!r}" if "labelSelectorPath" in scale else ""
    return f"Scale(spec={scale['specReplicasPath']!r}, status={scale['statusReplicasPath']!r}{selector})"


def _column(column: Document) -> str:
    extra = "".join(f", {key}={column[key]!r}" for key in ("format", "description", "priority") if column.get(key))
    return f"Column({column['name']!r}, {column['jsonPath']!r}, {column['type']!r}{extra})"
