"""The smallest operator that does everything which a deployed one does: probes, metrics, election, one controller."""

from __future__ import annotations

from kapstan import Manager, Reconciler, controller
from kapstan.k8s.apps_v1 import Deployment


@controller(Deployment)
class Idle(Reconciler[Deployment]):
    async def reconcile(self, deployment: Deployment) -> None:
        """Nothing to do."""


def main() -> None:
    manager = Manager.from_flags(leader_election_id="minimal.bench.kapstan.dev", leader_election_namespace="default")
    manager.add(Idle())
    manager.run()


if __name__ == "__main__":
    main()
