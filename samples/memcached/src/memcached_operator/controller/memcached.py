# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""The controller of Memcached: keeps a Deployment of the size and the shape that are asked for."""

import os

from kapstan import KapstanError, LabelSelector, ObjectMeta, Reconciler, Result, controller, rbac
from kapstan.k8s import core_v1 as core
from kapstan.k8s.apps_v1 import Deployment, DeploymentSpec

from memcached_operator.api.v1alpha1.memcached import Memcached

AVAILABLE, DEGRADED = "Available", "Degraded"
# The image that instances run. The manager's Deployment says it (config/manager/manager.yaml).
IMAGE = os.environ.get("MEMCACHED_IMAGE", "memcached:1.6.39-alpine")


@controller(Memcached, owns=[Deployment])
@rbac("apps", "deployments", verbs="create;patch;delete")
class MemcachedReconciler(Reconciler[Memcached]):
    """Makes the cluster match what a Memcached asks for. After a change of the declarations above: `make manifests`."""

    async def reconcile(self, memcached: Memcached) -> Result | None:
        """Have the Deployment as it is wanted, and say in the status what has come of it."""
        async with self.status(memcached) as status:
            if not status.conditions:
                status.set_condition(AVAILABLE, None, reason="Reconciling", message="nothing is known yet")
                await status.write()
            try:
                deployment = await self._deploy(memcached)
            except KapstanError as error:
                status.set_condition(DEGRADED, True, reason="DeploymentFailed", message=str(error))
                raise
            wanted, there = deployment.spec.replicas or 0, deployment.status.available_replicas or 0
            message = f"{there} of {wanted} instances are available"
            status.instances = there
            status.selector = ",".join(f"{key}={value}" for key, value in labels_of(memcached).items())
            status.set_condition(DEGRADED, False, reason="Reconciled", message="the Deployment is as it should be")
            reason = "AllAvailable" if there >= wanted else "Progressing"
            status.set_condition(AVAILABLE, there >= wanted, reason=reason, message=message)
        return None  # a change of the Deployment calls us again

    async def finalize(self, memcached: Memcached) -> None:
        """Clean up before a Memcached goes; that this method is there has a finalizer set."""
        async with self.status(memcached) as status:
            status.set_condition(DEGRADED, None, reason="Finalizing", message="its Deployment is being deleted")
        deployment = await self.client.find(Deployment, memcached.name, memcached.namespace)
        if deployment is not None and deployment.is_controlled_by(memcached):
            await self.client.delete(deployment)
        self.events.normal(memcached, "Deleted", f"Deployment {memcached.name} is deleted")

    async def _deploy(self, memcached: Memcached) -> Deployment:
        """The Deployment, created or changed if need be. One that belongs to somebody else is left alone."""
        found = await self.client.find(Deployment, memcached.name, memcached.namespace)
        if found is not None and not found.is_controlled_by(memcached):
            message = f"Deployment {memcached.name} exists already and does not belong to this Memcached"
            self.events.warning(memcached, "DeploymentExists", message)
            raise KapstanError(message)
        wanted = desired_deployment(memcached)
        deployment = await self.client.apply(wanted, owner=memcached)
        if found is None:
            self.events.normal(memcached, "Created", f"Deployment {memcached.name} is created")
        elif found.spec.replicas != wanted.spec.replicas:
            size = wanted.spec.replicas
            self.events.normal(memcached, "Scaled", f"from {found.spec.replicas} to {size} instances")
        return deployment


def desired_deployment(memcached: Memcached) -> Deployment:
    """The Deployment that a Memcached asks for; it meets the restricted pod security standard."""
    labels = labels_of(memcached)
    return Deployment(
        metadata=ObjectMeta(name=memcached.name, namespace=memcached.namespace, labels=labels),
        spec=DeploymentSpec(
            replicas=memcached.spec.size,
            selector=LabelSelector(match_labels=labels),
            template=core.PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=core.PodSpec(
                    security_context=core.PodSecurityContext(
                        run_as_non_root=True, seccomp_profile=core.SeccompProfile(type="RuntimeDefault")
                    ),
                    containers=[container_of(memcached)],
                ),
            ),
        ),
    )


def container_of(memcached: Memcached) -> core.Container:
    """The container of an instance."""
    return core.Container(
        name="memcached",
        image=IMAGE,
        image_pull_policy="IfNotPresent",
        command=["memcached", "--memory-limit=64", "-o", "modern", "-v"],
        ports=[
            core.ContainerPort(
                name="memcached",
                container_port=memcached.spec.container_port or 11211,
                protocol="TCP",
            )
        ],
        security_context=core.SecurityContext(
            allow_privilege_escalation=False,
            capabilities=core.Capabilities(drop=["ALL"]),
            run_as_non_root=True,
            run_as_user=1001,
        ),
    )


def labels_of(memcached: Memcached) -> dict[str, str]:
    """The labels of everything that belongs to a Memcached."""
    return {
        "app.kubernetes.io/instance": memcached.name,
        "app.kubernetes.io/managed-by": "memcached-operator",
        "app.kubernetes.io/name": "memcached",
    }
