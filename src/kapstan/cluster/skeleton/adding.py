"""Adding a reconciler of the product: with sources of its own, if what it listens to depends on what it was made with,
and with a patience that suits clusters.

Whatever goes wrong is tried again within half a minute, however often it went wrong before: an API server that was
overloaded for an hour is no reason to leave a cluster alone for the next quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from kapstan.runtime.controller import Controller
from kapstan.runtime.declaration import ControllerDeclaration
from kapstan.runtime.manager import Manager
from kapstan.runtime.ratelimiter import exponential
from kapstan.runtime.source import Source

__all__ = ("add_controller",)

_LONGEST = 30  # seconds until what failed is tried again


def add_controller(manager: Manager, reconciler: Any) -> Controller:
    """Add a reconciler; if it has a method `sources`, with the sources that this names."""
    declaration: ControllerDeclaration = type(reconciler).__controller__
    sources: Callable[[], Sequence[Source]] = getattr(reconciler, "sources", tuple)
    limiter = declaration.options.rate_limiter or partial(exponential, maximum=_LONGEST)
    options = replace(declaration.options, rate_limiter=limiter)
    return manager.add_controller(
        reconciler, replace(declaration, sources=(*declaration.sources, *sources()), options=options)
    )
