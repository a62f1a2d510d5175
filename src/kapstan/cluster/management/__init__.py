"""The management plane: an API server, the kinds of the product, its webhooks and all of its controllers, in one
process. `kapstan up`, the demonstration and tests put it together here and nowhere else.

Names are imported when they are first used: whoever only looks at clusters does not load what runs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kapstan.cluster.management.kinds import KINDS
    from kapstan.cluster.management.plane import ManagementPlane, management_plane

_MODULES = {"KINDS": "kinds", "ManagementPlane": "plane", "management_plane": "plane"}

__all__ = ("KINDS", "ManagementPlane", "management_plane")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
