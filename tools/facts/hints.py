"""Type hints: what a property's schema is in Python, with the markers that lead back from the type to the schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]

META = "kapstan.machinery.meta"
MARKERS = "kapstan.machinery.markers"
_META_DEFINITIONS = "io.k8s.apimachinery.pkg.apis.meta.v1."
_APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_ANYTHING = frozenset(("io.k8s.apimachinery.pkg.runtime.RawExtension", f"{_APIEXTENSIONS}JSON"))
_META_TYPES = {
    f"{_META_DEFINITIONS}Time": "Time",
    f"{_META_DEFINITIONS}MicroTime": "MicroTime",
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "Quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
}
_META_STRUCTS = ("Condition", "DeleteOptions", "LabelSelector", "LabelSelectorRequirement", "ObjectMeta")
_SCALARS = {
    ("string", None): "str",
    ("string", "byte"): "bytes",
    ("boolean", None): "bool",
    ("integer", "int32"): "Int32",
    ("integer", "int64"): "Int64",
    ("number", "double"): "float",
}
# Unions of a schema and something else, which OpenAPI does not describe.
_UNIONS = {
    f"{_APIEXTENSIONS}JSONSchemaPropsOrBool": "JSONSchemaProps | bool",
    f"{_APIEXTENSIONS}JSONSchemaPropsOrArray": "JSONSchemaProps | list[JSONSchemaProps]",
    f"{_APIEXTENSIONS}JSONSchemaPropsOrStringArray": "JSONSchemaProps | list[str]",
}


class Hint(NamedTuple):
    """A hint, what it is (`scalar`, `time`, `any`, `list`, `dict` or `struct`), its definition and its imports."""

    text: str
    shape: str
    definition: str = ""
    imports: frozenset[tuple[str, str]] = frozenset()
    markers: tuple[str, ...] = ()

    def marked(self) -> Hint:
        """With its own markers written into the text."""
        if not self.markers:
            return self
        imports = {*self.imports, ("typing", "Annotated"), *marker_imports(self.markers)}
        return Hint(
            f"Annotated[{self.text}, {', '.join(self.markers)}]", self.shape, self.definition, frozenset(imports)
        )


def reference(schema: Schema) -> str:
    """The definition that a schema refers to; empty if it is one itself."""
    ref = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), "")
    return str(ref).removeprefix("#/components/schemas/")


def marker_imports(markers: Iterable[str]) -> set[tuple[str, str]]:
    return {(MARKERS, marker.partition("(")[0]) for marker in markers}


class Hints:
    """Makes hints for one module; `modules` says where the classes of a definition's package live."""

    def __init__(self, module: str, modules: Mapping[str, str], definitions: Mapping[str, Schema]) -> None:
        self._module, self._modules, self._definitions = module, modules, definitions

    def of(self, schema: Schema) -> Hint:
        if definition := reference(schema):
            return self._referenced(definition)
        match schema.get("type"):
            case "array":
                return self._list(schema)
            case "object":
                return self._dict(schema)
        text = _SCALARS[schema["type"], schema.get("format")]
        imports = frozenset({(META, text)}) if text.startswith("Int") else frozenset()
        return Hint(text, "scalar", imports=imports)

    def _referenced(self, definition: str) -> Hint:
        if definition in _ANYTHING:
            return Hint("Any", "any", imports=frozenset({("typing", "Any")}))
        if definition in _UNIONS:
            return Hint(_UNIONS[definition], "scalar")
        if definition in _META_TYPES:
            text = _META_TYPES[definition]
            shape = "time" if text.endswith("Time") else "scalar"
            return Hint(text, shape, imports=frozenset({(META, text)}))
        package, _, name = definition.rpartition(".")
        home = META if name in _META_STRUCTS and package + "." == _META_DEFINITIONS else self._modules[package]
        imports = frozenset({(home, name)}) if home != self._module else frozenset()
        atomic = self._definitions[definition].get("x-kubernetes-map-type") == "atomic"
        return Hint(name, "struct", definition, imports, ("StructAtomic()",) if atomic else ())

    def _list(self, schema: Schema) -> Hint:
        items = self.of(schema["items"]).marked()
        match schema.get("x-kubernetes-list-type"):
            case "map":
                keys = ", ".join(map(json.dumps, schema["x-kubernetes-list-map-keys"]))
                markers: tuple[str, ...] = (f"ListMap({keys})",)
            case "set":
                markers = ("ListSet()",)
            case "atomic":
                markers = ("ListAtomic()",)
            case _:
                markers = ()
        return Hint(f"list[{items.text}]", "list", items.definition, items.imports, markers)

    def _dict(self, schema: Schema) -> Hint:
        values = schema.get("additionalProperties")
        found = self.of(values).marked() if values else Hint("Any", "any", imports=frozenset({("typing", "Any")}))
        markers = ("MapAtomic()",) if schema.get("x-kubernetes-map-type") == "atomic" else ()
        return Hint(f"dict[str, {found.text}]", "dict", found.definition, found.imports, markers)
