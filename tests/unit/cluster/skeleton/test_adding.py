"""Adding reconcilers of the product to a manager."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kapstan.client import Config
from kapstan.cluster.skeleton.adding import add_controller
from kapstan.k8s.core_v1 import ConfigMap
from kapstan.runtime.declaration import controller
from kapstan.runtime.manager import Manager
from kapstan.runtime.ratelimiter import exponential
from kapstan.runtime.reconcile import Reconciler
from kapstan.runtime.source import Channel, Source


@controller(ConfigMap, name="patient")
class Patient(Reconciler[ConfigMap]):
    async def reconcile(self, config_map: ConfigMap) -> None: ...

    def sources(self) -> Sequence[Source]:
        return [Channel()]


@controller(ConfigMap, name="own", rate_limiter=partial(exponential, maximum=2))
class OwnPatience(Reconciler[ConfigMap]):
    async def reconcile(self, config_map: ConfigMap) -> None: ...


async def test_what_failed_often_is_tried_again_within_half_a_minute() -> None:
    manager = Manager(Config(server="http://127.0.0.1:1"))
    try:
        for reconciler, longest in ((Patient(), 30), (OwnPatience(), 2)):
            limiter = add_controller(manager, reconciler).options.rate_limiter
            assert limiter is not None
            made = limiter()
            assert max(made.when("key") for _ in range(40)) == longest
    finally:
        await manager.live.close()
