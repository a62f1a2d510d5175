"""Adding a reconciler that has sources of its own: what it listens to depends on what it was made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from kapstan.runtime.controller import Controller
from kapstan.runtime.declaration import ControllerDeclaration
from kapstan.runtime.manager import Manager
from kapstan.runtime.source import Source

__all__ = ("add_controller",)


class _Sourced(Protocol):
    """A reconciler with sources of its own."""

    def sources(self) -> Sequence[Source]: ...


def add_controller(manager: Manager, reconciler: Any) -> Controller:
    """Add a reconciler with the sources that it names itself."""
    sourced: _Sourced = reconciler
    declaration: ControllerDeclaration = type(reconciler).__controller__
    sources = (*declaration.sources, *sourced.sources())
    return manager.add_controller(reconciler, replace(declaration, sources=sources))
