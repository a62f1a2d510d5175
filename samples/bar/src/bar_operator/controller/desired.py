# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""What a Bar asks for: pure functions that both controllers share."""

from kapstan import LabelSelector, ObjectMeta
from kapstan.k8s import core_v1 as core
from kapstan.k8s.apps_v1 import Deployment, DeploymentSpec

from bar_operator.api.v1alpha1.bar import Bar

__all__ = ("deployment_name", "desired_deployment")


def deployment_name(bar: Bar) -> str:
    """The name of the Deployment of a Bar."""
    return bar.spec.deployment_name or bar.name


def desired_deployment(bar: Bar) -> Deployment:
    """The Deployment that a Bar asks for."""
    labels = {"app": "nginx", "controller": bar.name}
    return Deployment(
        metadata=ObjectMeta(name=deployment_name(bar), namespace=bar.namespace),
        spec=DeploymentSpec(
            replicas=bar.spec.replicas or 1,
            selector=LabelSelector(match_labels=labels),
            template=core.PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=core.PodSpec(containers=[core.Container(name="nginx", image="nginx:1.29")]),
            ),
        ),
    )
