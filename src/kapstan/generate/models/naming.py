"""Python names for JSON names, such that the JSON name can be had back."""

from __future__ import annotations

import keyword
import re

from kapstan.machinery.model import Model, Resource

__all__ = ("class_name", "field_name", "needs_alias")

_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_UNFIT = re.compile(r"\W+")
# Names that a generated module uses itself; a field of that name would hide them from the annotations below it.
_USED = {"field", "resource", "list", "dict", "str", "int", "bool", "bytes", "float"}
_TAKEN = _USED | {name for name in dir(Model) if not name.startswith("__")}
_TAKEN_IN_KINDS = _TAKEN | {name for name in dir(Resource) if not name.startswith("__")}


def field_name(json_name: str, *, of_kind: bool = False) -> str:
    """`providerID` → `provider_id`, `from` → `from_`, `x-y` → `x_y`. A kind has names of its own to keep clear of."""
    taken = _TAKEN_IN_KINDS if of_kind else _TAKEN
    snake = _BOUNDARY.sub("_", _UNFIT.sub("_", json_name)).lower().strip("_") or "field_"
    if snake[0].isdigit():
        snake = f"f_{snake}"
    return f"{snake}_" if keyword.iskeyword(snake) or keyword.issoftkeyword(snake) or snake in taken else snake


def needs_alias(python_name: str, json_name: str) -> bool:
    """Whether the usual renaming to camelCase would not give the JSON name."""
    return _camel(python_name) != json_name


def class_name(json_name: str) -> str:
    """`nodeRef` → `NodeRef`."""
    cleaned = _UNFIT.sub("_", json_name)
    return "".join(part[:1].upper() + part[1:] for part in cleaned.split("_") if part) or "Field"


def _camel(snake: str) -> str:
    """msgspec's `rename="camel"`."""
    first, *rest = snake.split("_")
    return first + "".join(part.title() for part in rest)
