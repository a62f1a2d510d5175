"""What these tests put into clusters."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

STUCK = {"simulation.kapstan.dev/waiting": "ImagePullBackOff"}


def deployment(
    namespace: str,
    name: str = "web",
    *,
    replicas: int = 3,
    image: str = "web:1",
    annotations: dict[str, str] | None = None,
    requests: dict[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A Deployment; `annotations` and `requests` are of its pods, `spec` is the rest of its own."""
    container: Object = {"name": "web", "image": image, "ports": [{"name": "http", "containerPort": 8080}]}
    if requests:
        container["resources"] = {"requests": requests}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": annotations or {}},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 5},
            },
            **spec,
        },
    }


def template(image: str, annotations: dict[str, str | None] | None = None) -> Object:
    """A change of a Deployment's template, as a strategic patch."""
    return {
        "spec": {
            "template": {
                "metadata": {"annotations": annotations or {}},
                "spec": {"containers": [{"name": "web", "image": image}]},
            }
        }
    }


def service(namespace: str, name: str = "web", **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": {"team": "a"}},
        "spec": {
            "selector": {"app": name},
            "ports": [{"name": "web", "port": 80, "targetPort": "http"}],
            **spec,
        },
    }


def budget(namespace: str, name: str = "web", **spec: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": name}}, **spec},
    }
