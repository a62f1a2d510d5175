"""Names: from JSON's camelCase with acronyms to Python's snake_case, and when the way back must be written down."""

from __future__ import annotations

import keyword
import re

# `clusterIPs` is cluster and IPs, `targetCPUUtilization` is target, CPU and Utilization, `openAPIV3Schema` has a V3.
_WORDS = re.compile(r"V[0-9]+|[A-Z]{2,}s(?![a-z])|[A-Z]{2,}(?=V[0-9])|[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")


def python_name(json_name: str) -> str:
    """`podIPs` → `pod_ips`, `$ref` → `ref`, `from` → `from_`."""
    words = _WORDS.findall(json_name)
    name = "_".join(word.lower() for word in words)
    return f"{name}_" if keyword.iskeyword(name) else name


def renamed(name: str) -> str:
    """What a type with `rename="camel"` calls the field in JSON."""
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)
