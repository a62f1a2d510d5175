"""The schemas of types that every API shares, as every Kubernetes API writes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from kapstan.machinery.meta import Condition, Duration, MicroTime, ObjectMeta, Quantity

__all__ = ("KNOWN_SCALARS", "KNOWN_STRUCTS", "QUANTITY_PATTERN")

Document = dict[str, Any]

QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

KNOWN_SCALARS: dict[Any, Callable[[], Document]] = {
    str: lambda: {"type": "string"},
    bool: lambda: {"type": "boolean"},
    int: lambda: {"type": "integer"},
    bytes: lambda: {"format": "byte", "type": "string"},
    datetime: lambda: {"format": "date-time", "type": "string"},
    MicroTime: lambda: {"format": "date-time", "type": "string"},
    Duration: lambda: {"type": "string"},
    Quantity: lambda: {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": QUANTITY_PATTERN,
        "x-kubernetes-int-or-string": True,
    },
    msgspec.Raw: lambda: {"x-kubernetes-preserve-unknown-fields": True},
}


def _condition() -> Document:
    """`metav1.Condition`, with the bounds that every Kubernetes API puts on it."""
    name = r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    return {
        "description": "One observation about the state of the object.",
        "properties": {
            "lastTransitionTime": {
                "description": "When the status last changed.",
                "format": "date-time",
                "type": "string",
            },
            "message": {
                "description": "Details of the last change, for a person to read.",
                "maxLength": 32768,
                "type": "string",
            },
            "observedGeneration": {
                "description": "The metadata.generation that the observation was made of.",
                "format": "int64",
                "minimum": 0,
                "type": "integer",
            },
            "reason": {
                "description": "Why the status last changed: one word in CamelCase, for programs.",
                "maxLength": 1024,
                "minLength": 1,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                "type": "string",
            },
            "status": {
                "description": "True, False or Unknown.",
                "enum": ["True", "False", "Unknown"],
                "type": "string",
            },
            "type": {
                "description": "What was observed, in CamelCase.",
                "maxLength": 316,
                "pattern": f"^{name}(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                "type": "string",
            },
        },
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "type": "object",
    }


KNOWN_STRUCTS: dict[type, Callable[[], Document]] = {
    Condition: _condition,
    ObjectMeta: lambda: {"type": "object"},
}
