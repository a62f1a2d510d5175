# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""The controller of Bar, made with the builder: what is watched, cached and queued is the manager's concern."""

from kapstan import KapstanError, Manager, Reconciler, Result, new_controller_managed_by, rbac
from kapstan.k8s.apps_v1 import Deployment
from kapstan.machinery.owners import set_controller

from bar_operator.api.v1alpha1.bar import Bar
from bar_operator.controller.desired import deployment_name, desired_deployment


@rbac("apps", "deployments", verbs="list;watch;create;patch;delete")
@rbac("samplecontroller.example.com", "bars/finalizers", verbs="update")
class BarReconciler(Reconciler[Bar]):
    """Makes the cluster match what a Bar asks for."""

    def setup_with_manager(self, manager: Manager) -> None:
        """Reconcile Bars, whenever one of them or one of their Deployments changes."""
        new_controller_managed_by(manager).for_(Bar).owns(Deployment).complete(self)

    async def reconcile(self, bar: Bar) -> Result | None:
        """Have the Deployment that is asked for, none that is not, and say what has come of it."""
        deployment = await self._deploy(bar)
        await self._delete_former(bar)
        async with self.status(bar) as status:
            status.available_replicas = deployment.status.available_replicas or 0
        self.events.normal(bar, "Synced", "Bar synced successfully")
        return None

    async def _deploy(self, bar: Bar) -> Deployment:
        """The Deployment, created or changed if need be. One that belongs to somebody else is never taken over."""
        wanted = desired_deployment(bar)
        found = await self.client.find(Deployment, wanted.name, bar.namespace)
        if found is None:
            set_controller(bar, wanted)
            return await self.client.create(wanted)  # not applied: that would take over one that we do not know yet
        if not found.is_controlled_by(bar):
            message = f"Resource {found.name!r} already exists and is not managed by Bar"
            self.events.warning(bar, "ErrResourceExists", message)
            raise KapstanError(message)
        return await self.client.apply(wanted, owner=bar)

    async def _delete_former(self, bar: Bar) -> None:
        """Delete Deployments of other names, found by an index on their owner: the Bar was renamed."""
        for deployment in self.client.cache.factory[Deployment].lister(bar.namespace).owned_by(bar):
            if deployment.name != deployment_name(bar) and deployment.is_controlled_by(bar):
                await self.client.delete(deployment)
                self.events.normal(bar, "Renamed", f"Deployment {deployment.name} is deleted")
