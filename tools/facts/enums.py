"""Enums: the published documents leave them out, a running server publishes them; its generated Go source has them.

That source is one formatted literal a type, so the nesting can be read off the indentation: a property's name stands
at five tabs, its enum two deeper, and the enum of a list's or map's values deeper still.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import source

_FUNCTION = re.compile(r"^func schema_\w*?([a-z0-9]+_v\w+?_\w+)\(ref ")
_PROPERTY = re.compile(r'^\t{5}"([^"]+)": \{$')
_ENUM = re.compile(r"^(\t+)Enum: +\[\]interface\{\}\{(.*)\},$")


def add(definitions: dict[str, Any]) -> None:
    """Put every enum into the schema it belongs to."""
    by_type = {"_".join(name.rsplit(".", 3)[-3:]): schema for name, schema in definitions.items()}
    for type_name, property_name, depth, values in _found():
        if (schema := by_type.get(type_name)) is not None:
            part = schema["properties"][property_name]
            if depth > 7:
                part = part.get("items") or part["additionalProperties"]
            part["enum"] = values


def _found() -> Iterator[tuple[str, str, int, list[str]]]:
    type_name = property_name = ""
    path = source.kubernetes() / "pkg/generated/openapi/zz_generated.openapi.go"
    for line in path.read_text().splitlines():
        if match := _FUNCTION.match(line):
            type_name = match[1]
        elif match := _PROPERTY.match(line):
            property_name = match[1]
        elif match := _ENUM.match(line):
            yield type_name, property_name, len(match[1]), json.loads(f"[{match[2]}]")
