"""Policy: what the labels of a namespace say about its pods: which level is enforced, noted and warned of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kapstan.machinery.validation import FieldError, Path

__all__ = ("LATEST", "PREFIX", "PRIVILEGED", "Level", "Policy", "policy_of")

PREFIX = "pod-security.kubernetes.io/"
LATEST = 1 << 30
_LEVELS = ("privileged", "baseline", "restricted")
_VERSION = re.compile(r"v1\.([0-9]|[1-9][0-9]*)")


class Level(NamedTuple):
    """How strict, by the rules of which minor version of Kubernetes."""

    name: str
    minor: int = LATEST

    def __str__(self) -> str:
        return f"{self.name}:{'latest' if self.minor == LATEST else f'v1.{self.minor}'}"

    @property
    def strictness(self) -> int:
        return _LEVELS.index(self.name)


PRIVILEGED = Level("privileged")


class Policy(NamedTuple):
    """What is refused, what is noted (for nobody here: there is no audit log), and what is warned of."""

    enforce: Level = PRIVILEGED
    audit: Level = PRIVILEGED
    warn: Level = PRIVILEGED


def policy_of(labels: Mapping[str, str]) -> tuple[Policy, list[FieldError]]:
    """Mistakes are as strict as can be where that is enforced, and mean nothing elsewhere."""
    errors: list[FieldError] = []
    enforce = _level(labels, "enforce", "restricted", errors)
    audit = _level(labels, "audit", "privileged", errors)
    warn = _level(labels, "warn", "privileged", errors)
    said = labels.get(f"{PREFIX}enforce")
    if f"{PREFIX}warn" not in labels and said in _LEVELS and enforce.strictness > warn.strictness:
        minor = warn.minor if f"{PREFIX}warn-version" in labels else enforce.minor
        warn = Level(enforce.name, minor)
    return Policy(enforce, audit, warn), errors


def _level(labels: Mapping[str, str], mode: str, mistaken: str, errors: list[FieldError]) -> Level:
    name = labels.get(f"{PREFIX}{mode}", "privileged")
    if name not in _LEVELS:
        errors.append(_wrong(f"{PREFIX}{mode}", name, f"must be one of {', '.join(_LEVELS)}"))
        name = mistaken
    version = labels.get(f"{PREFIX}{mode}-version", "latest")
    match = _VERSION.fullmatch(version)
    if match is None and version != "latest":
        errors.append(_wrong(f"{PREFIX}{mode}-version", version, 'must be "latest" or "v1.x"'))
    return Level(name, int(match[1]) if match else LATEST)


def _wrong(label: str, value: str, detail: str) -> FieldError:
    return FieldError.invalid(Path("metadata", "labels").key(label), value, detail)
