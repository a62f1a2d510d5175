"""Test environments: a management cluster for tests, on the embedded or on the real API server.

    async with embedded(Memcached) as env, env.run(MemcachedReconciler()):
        await env.client.create(sample)
        await env.eventually(Deployment, "sample", "default", lambda found: found.spec.replicas == 3)

As pytest fixtures, these are `embedded`, `real` and `env` (whichever is configured); see `kapstan.testing.plugin`.
"""

from kapstan.testing.environment import Environment, embedded, real

__all__ = ("Environment", "embedded", "real")
