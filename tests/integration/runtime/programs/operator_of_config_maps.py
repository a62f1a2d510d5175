"""An operator for tests, as a process: adds its name to a log in a ConfigMap, again and again, while it leads.

operator_of_config_maps.py NAME NAMESPACE [flags of a manager]
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from kapstan import Manager, Patch, Reconciler, Result, controller
from kapstan.k8s.core_v1 import ConfigMap

NAME, NAMESPACE = sys.argv[1:3]


@controller(ConfigMap, name="scribe")
class Scribe(Reconciler[ConfigMap]):
    async def reconcile(self, log: ConfigMap) -> Result | None:
        if log.name == "log":
            entry = {f"{time.time_ns()}": NAME}
            await self.client.patch(log, Patch.merge({"data": entry}))
            return Result(requeue_after=0.1)
        if log.name == "slow":
            await self._write_slowly(log)
        return None

    async def _write_slowly(self, slow: ConfigMap) -> None:
        """Two writes that belong together, with time between them."""
        if "end" in slow.data:
            return
        await self.client.patch(slow, Patch.merge({"data": {"begin": NAME}}))
        await asyncio.sleep(2)
        await self.client.patch(slow, Patch.merge({"data": {"end": NAME}}))


@controller(ConfigMap, name="blocker")
class Blocker(Reconciler[ConfigMap]):
    def reconcile(self, config_map: ConfigMap) -> None:
        if config_map.name == "block":
            self.wait(self.client.patch(config_map, Patch.merge({"data": {"blocked": "yes"}})))
            time.sleep(3600)


def main() -> None:
    options: dict[str, Any] = {"leader_election_id": "scribe", "leader_election_namespace": NAMESPACE}
    if "--short" in sys.argv:
        sys.argv.remove("--short")
        options["graceful_shutdown_timeout"] = 1
    manager = Manager.from_flags(sys.argv[3:], namespaces=(NAMESPACE,), **options)
    manager.add(Scribe(), Blocker())
    manager.run()


if __name__ == "__main__":
    main()
