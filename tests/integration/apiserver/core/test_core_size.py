"""The largest object: what the API server adds when a deletion begins has to fit, too."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.client.interface import Patch
from kapstan.machinery.errors import APIError
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.testing import Environment

JAR = GroupVersionKind("example.com", "v1", "Jar")
LIMIT = 1536 * 1024


def definition() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jars.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Jar", "plural": "jars", "singular": "jar", "listKind": "JarList"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def largest(env: Environment, namespace: str) -> str:
    """The name of an object that has no room for a few bytes more."""
    fits, too_large, found = LIMIT - 4096, LIMIT, ""
    while too_large - fits > 16:
        size = (fits + too_large) // 2
        name = f"jar-{size}"
        metadata = {"name": name, "namespace": namespace, "finalizers": ["example.com/keep"]}
        document = {"apiVersion": JAR.api_version, "kind": JAR.kind, "metadata": metadata, "content": "x" * size}
        try:
            await env.client.create(document)
        except APIError as error:
            if "etcdserver: request is too large" not in str(error):
                raise
            too_large = size
        else:
            fits, found = size, name
    return found


async def test_a_deletion_that_cannot_be_noted_is_refused_and_changes_nothing(env: Environment) -> None:
    await env.install(definition())
    namespace = await env.namespace()
    name = await largest(env, namespace)
    with pytest.raises(APIError, match="etcdserver: request is too large") as refused:
        await env.client.delete(JAR, name, namespace)
    assert refused.value.status.code == 500
    found = await env.client.get(JAR, name, namespace)
    assert "deletionTimestamp" not in found["metadata"]
    patch = {"metadata": {"finalizers": None}, "content": ""}
    await env.client.patch(found, Patch.merge(patch))
    await env.client.delete(JAR, name, namespace)
