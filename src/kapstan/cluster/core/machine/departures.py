"""Departures: machines that are being deleted, and what of their workload cluster is watched until they are gone.

While a node is drained its pods are followed, and if budgets stand in the way those of the cluster, once for all of its
machines; while volumes are detached, the attachments of the cluster. Each change wakes the machine. All is forgotten
with the machine.
"""

from __future__ import annotations

import time
from weakref import WeakSet

from kapstan.cluster.remote.connection import Connection, Follower
from kapstan.k8s.core_v1 import Pod
from kapstan.k8s.policy_v1 import PodDisruptionBudget
from kapstan.k8s.storage_v1 import VolumeAttachment
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.scope import Scope
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.source import Channel

__all__ = ("Departures",)


class _Departure:
    """One machine that goes."""

    def __init__(self) -> None:
        self.pods: Follower | None = None
        self.daemon_sets: set[ObjectKey] = set()  # that are known to exist
        self.node_deletion: float | None = None  # when it was first tried


class _Refused:
    """The machines of a cluster whose pods may not leave, and the budgets that say so."""

    def __init__(self) -> None:
        self.machines: set[ObjectKey] = set()
        self.budgets: Follower | None = None


class Departures:
    """Machines that go, and what they wait for."""

    def __init__(self) -> None:
        self.channel = Channel()  # wakes machines
        self._departures: dict[ObjectKey, _Departure] = {}
        self._refused: dict[ObjectKey, _Refused] = {}  # by cluster
        self._waiting: dict[tuple[ObjectKey, str], ObjectKey] = {}  # machines, by the node whose volumes they wait for
        self._heard: WeakSet[Connection] = WeakSet()

    def forget(self, machine: ObjectKey) -> None:
        """The machine is gone, or waits for nothing in its workload cluster any more."""
        self.drained(machine)
        self._departures.pop(machine, None)
        for waiting in [place for place, key in self._waiting.items() if key == machine]:
            del self._waiting[waiting]

    # --- Pods -------------------------------------------------------------------------------------------------------

    async def pods_on(self, node: str, connection: Connection, machine: ObjectKey) -> list[Pod]:
        """The pods of a node; when one of them changes, the machine is woken."""
        departure = self._departures.setdefault(machine, _Departure())
        if departure.pods is None or not departure.pods.open:
            scope = Scope(fields={"spec.nodeName": node})
            departure.pods = connection.follow(Pod, scope, lambda: self.channel.send(machine))
        return await departure.pods.list()

    def daemon_sets(self, machine: ObjectKey) -> set[ObjectKey]:
        """DaemonSets that are known to exist; whoever finds another adds it."""
        return self._departures.setdefault(machine, _Departure()).daemon_sets

    def follow_budgets(self, connection: Connection, machine: ObjectKey) -> None:
        """A pod may not leave at present: when a PodDisruptionBudget changes, the machine is woken."""
        refused = self._refused.setdefault(connection.cluster, _Refused())
        refused.machines.add(machine)
        if refused.budgets is None or not refused.budgets.open:
            refused.budgets = connection.follow(PodDisruptionBudget, Scope(), lambda: self._ask_again(refused))

    def _ask_again(self, refused: _Refused) -> None:
        for machine in refused.machines:
            self.channel.send(machine)

    def drained(self, machine: ObjectKey) -> None:
        """Nothing is to leave any more."""
        departure = self._departures.get(machine)
        if departure is not None and departure.pods is not None:
            departure.pods.close()
            departure.pods = None
        for cluster, refused in list(self._refused.items()):
            refused.machines.discard(machine)
            if not refused.machines:
                if refused.budgets is not None:
                    refused.budgets.close()
                del self._refused[cluster]

    # --- Volumes ----------------------------------------------------------------------------------------------------

    async def attachments(self, node: str, connection: Connection, machine: ObjectKey) -> list[VolumeAttachment]:
        """The volumes that are attached to a node; when one is detached, the machine is woken."""
        self._waiting[connection.cluster, node] = machine
        informer = connection.informers[VolumeAttachment]
        if connection not in self._heard:
            self._heard.add(connection)
            cluster = connection.cluster
            informer.shared.listen(lambda old, new, initial: self._attachment_changed(cluster, old, initial))
        found = await connection.client.list(VolumeAttachment)
        return [one for one in found if one.spec.node_name == node and one.status.attached]

    def _attachment_changed(self, cluster: ObjectKey, old: Snapshot | None, initial: bool) -> None:
        if initial or old is None or not self._waiting:
            return
        attachment: VolumeAttachment = old.decode(VolumeAttachment)
        machine = self._waiting.get((cluster, attachment.spec.node_name))
        if machine is not None:
            self.channel.send(machine)

    # --- Nodes ------------------------------------------------------------------------------------------------------

    def node_deletion_lasts(self, machine: ObjectKey) -> float:
        """For how many seconds the deletion of the node has been tried."""
        departure = self._departures.setdefault(machine, _Departure())
        if departure.node_deletion is None:
            departure.node_deletion = time.monotonic()
        return time.monotonic() - departure.node_deletion
