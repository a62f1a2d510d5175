"""Protobuf messages: the field numbers, JSON names and omission rules that a decoder of request bodies needs.

A field is written as `[number, name, type]`. The type reads like Go: `*` before it is a pointer, `[]` a list, `{}` a
map with string keys; `,empty` or `,zero` behind it says when JSON leaves the field out. An inlined message has no name.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

_HOLDERS = {"": "", "pointer": "*", "list": "[]", "map": "{}"}


def messages() -> dict[str, Any]:
    """All messages of the served kinds, from the Go types' own tags."""
    command = ["go", "run", "."]
    done = subprocess.run(command, cwd=Path(__file__).with_name("types"), stdout=subprocess.PIPE, check=True)
    facts = json.loads(done.stdout)
    kinds = {api: dict(sorted(kinds.items())) for api, kinds in sorted(facts["kinds"].items())}
    found = {name: [_field(field) for field in fields] for name, fields in sorted(facts["messages"].items())}
    return {"kinds": kinds, "messages": found}


def field_order(facts: dict[str, Any]) -> dict[str, list[str]]:
    """By OpenAPI definition: the JSON names of its fields in Go's order, inlined messages in their place."""

    def names(message: str) -> list[str]:
        found: list[str] = []
        for _, name, type in facts["messages"].get(message, ()):
            found += [name] if name else names(type)
        return found

    return {name.replace("k8s.io/", "io.k8s.", 1).replace("/", "."): names(name) for name in facts["messages"]}


def _field(field: dict[str, Any]) -> list[Any]:
    type = _HOLDERS[field.get("holder", "")] + field.get("type", field["kind"])
    omit = field.get("omit")
    return [field["number"], field["name"], f"{type},{omit}" if omit else type]
