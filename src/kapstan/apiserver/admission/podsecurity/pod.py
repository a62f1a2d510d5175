"""Pod: what checks ask about a pod, and how they name what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ("Pod", "Violation", "containers", "plural", "quoted", "setters")

Object = dict[str, Any]


class Violation(NamedTuple):
    """A rule that a pod breaks, and by what."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class Pod:
    """A pod, or a template of pods."""

    def __init__(self, metadata: Object, spec: Object) -> None:
        self.annotations: dict[str, str] = metadata.get("annotations") or {}
        self.spec = spec
        self.security: Object = spec.get("securityContext") or {}

    @property
    def is_windows(self) -> bool:
        return bool((self.spec.get("os") or {}).get("name") == "windows")

    @property
    def has_own_users(self) -> bool:
        """Whether root in the pod is nobody outside of it."""
        return self.spec.get("hostUsers") is False

    @property
    def volumes(self) -> list[Object]:
        return self.spec.get("volumes") or []

    def containers(self) -> Iterator[tuple[str, Object, Object]]:
        """The name, the container, and its security context, of each."""
        for field in ("initContainers", "containers", "ephemeralContainers"):
            for container in self.spec.get(field) or ():
                yield container["name"], container, container.get("securityContext") or {}

    def offending(self, is_bad: Callable[[Object], bool]) -> list[str]:
        """The containers whose security context is bad."""
        return [name for name, _, security in self.containers() if is_bad(security)]


def quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def plural(singular: str, items: Iterable[Any], many: str = "") -> str:
    return singular if len(list(items)) == 1 else many or f"{singular}s"


def containers(names: list[str]) -> str:
    return f"{plural('container', names)} {quoted(names)}"


def setters(pod_is_bad: bool, names: list[str]) -> str:
    """Who set something: the pod, containers, or both; "" if nobody did."""
    return " and ".join(["pod"] * pod_is_bad + [containers(names)] * bool(names))
