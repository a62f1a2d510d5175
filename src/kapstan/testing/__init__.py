"""Test environments: a management cluster for tests, on the embedded or on the real API server.

    async with embedded(Memcached) as env, env.run(MemcachedReconciler()):
        await env.client.create(sample)
        await env.eventually(Deployment, "sample", "default", lambda found: found.spec.replicas == 3)

As pytest fixtures, these are `embedded`, `real` and `env` (whichever is configured); see `kapstan.testing.plugin`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kapstan.testing.environment import Environment, embedded, real

__all__ = ("Environment", "embedded", "real")


def __getattr__(name: str) -> Any:
    """Loaded when first used: the pytest plugin is in every test run, with or without an environment."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.environment"), name)
