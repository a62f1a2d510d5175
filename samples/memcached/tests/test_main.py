# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""The operator as a whole."""

from kapstan.generate.inventory import take_inventory
from kapstan.testing import Environment

from memcached_operator.main import setup


async def test_the_operator_starts(env: Environment) -> None:
    """Its kinds are accepted, its caches fill, its webhooks are called: everything fits together."""
    await env.install(*take_inventory("memcached_operator").kinds)
    async with env.run(setup=setup) as operator:
        assert operator.manager.elected.is_set()
