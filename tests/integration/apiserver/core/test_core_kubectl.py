"""kubectl, as people use it, on the embedded server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kapstan.apiserver.server import EmbeddedServer
from kapstan.components import assets
from kapstan.machinery.codec import to_yaml

pytestmark = pytest.mark.real


class Said(NamedTuple):
    code: int
    out: str
    err: str


Kubectl = Callable[..., Awaitable[Said]]


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    program = (await assets.find_all(["kubectl"]))["kubectl"]
    async with EmbeddedServer() as server:
        config = tmp_path / "kubeconfig"
        config.touch(mode=0o600)
        config.write_text(to_yaml(server.kubeconfig()))
        environment = {"KUBECONFIG": str(config), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}

        async def run(*arguments: str, stdin: str = "", fails: bool = False) -> Said:
            process = await asyncio.create_subprocess_exec(
                *(str(program), *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
            )
            async with asyncio.timeout(60):
                out, err = await process.communicate(stdin.encode())
            said = Said(process.returncode or 0, out.decode(), err.decode())
            assert bool(said.code) is fails, said
            return said

        yield run


def manifest(*documents: dict[str, Any]) -> str:
    return "---\n".join(map(to_yaml, documents))


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


async def test_reading(kubectl: Kubectl) -> None:
    assert "v1.36" in (await kubectl("version")).out
    assert "kube-system" in (await kubectl("get", "namespaces")).out
    assert "deployments" in (await kubectl("api-resources")).out
    assert "apps/v1" in (await kubectl("api-versions")).out
    assert "kube-system" in (await kubectl("get", "ns", "-o", "name")).out
    assert '"kind": "Namespace"' in (await kubectl("get", "ns", "default", "-o", "json")).out
    assert (await kubectl("get", "ns", "default", "-o", "jsonpath={.status.phase}")).out == "Active"
    assert "not found" in (await kubectl("get", "ns", "nowhere", fails=True)).err
    assert "FIELDS" in (await kubectl("explain", "deployment.spec.template")).out
    assert "Active" in (await kubectl("describe", "namespace", "default")).out
    assert "yes" in (await kubectl("auth", "can-i", "create", "pods")).out
    assert "kubernetes-admin" in (await kubectl("auth", "whoami")).out


async def test_creating_changing_and_deleting(kubectl: Kubectl) -> None:
    await kubectl("create", "configmap", "a", "--from-literal=k=v")
    await kubectl("label", "configmap", "a", "x=y")
    await kubectl("annotate", "configmap", "a", "note=hello")
    await kubectl("patch", "configmap", "a", "-p", '{"data":{"k":"strategic"}}')
    await kubectl("patch", "configmap", "a", "--type=merge", "-p", '{"data":{"m":"merge"}}')
    await kubectl("patch", "configmap", "a", "--type=json", "-p", '[{"op":"remove","path":"/data/m"}]')
    found = (await kubectl("get", "cm", "a", "-o", "jsonpath={.data} {.metadata.labels} {.metadata.annotations}")).out
    assert found == '{"k":"strategic"} {"x":"y"} {"note":"hello"}'
    assert (await kubectl("get", "cm", "-l", "x=y", "-o", "name")).out == "configmap/a\n"
    await kubectl("delete", "configmap", "a", "--wait=true")
    assert "NotFound" in (await kubectl("get", "cm", "a", fails=True)).err


async def test_applying_on_the_client_and_on_the_server(kubectl: Kubectl) -> None:
    assert "created" in (await kubectl("apply", "-f", "-", stdin=manifest(config_map(a="1", b="2")))).out
    assert "unchanged" in (await kubectl("apply", "-f", "-", stdin=manifest(config_map(a="1", b="2")))).out
    changed = manifest(config_map(a="1", c="3"))
    assert "+  c: " in (await kubectl("diff", "-f", "-", stdin=changed, fails=True)).out
    await kubectl("apply", "-f", "-", stdin=changed)
    assert (await kubectl("get", "cm", "a", "-o", "jsonpath={.data}")).out == '{"a":"1","c":"3"}'

    await kubectl("apply", "--server-side", "-f", "-", stdin=manifest(config_map(a="1", d="4")))
    assert (await kubectl("get", "cm", "a", "-o", "jsonpath={.data}")).out == '{"a":"1","d":"4"}'
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    refused = await kubectl(*other, stdin=manifest(config_map(a="9")), fails=True)
    assert 'conflict with "kubectl"' in refused.err
    await kubectl(*other, "--force-conflicts", stdin=manifest(config_map(a="9")))
    assert (await kubectl("get", "cm", "a", "-o", "jsonpath={.data.a}")).out == "9"


async def test_strict_validation(kubectl: Kubectl) -> None:
    wrong = {**config_map(a="1"), "nonsense": True}
    assert 'unknown field "nonsense"' in (await kubectl("apply", "-f", "-", stdin=manifest(wrong), fails=True)).err


async def test_scaling_and_waiting(kubectl: Kubectl) -> None:
    await kubectl("create", "deployment", "web", "--image=nginx", "--replicas=1")
    await kubectl("scale", "deployment", "web", "--replicas=4")
    assert (await kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}")).out == "4"
    patch = '{"status":{"conditions":[{"type":"Available","status":"True"}]}}'
    await kubectl("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", patch)
    await kubectl("wait", "deployment/web", "--for=condition=Available", "--timeout=20s")
    waiting = asyncio.ensure_future(kubectl("wait", "deployment/web", "--for=delete", "--timeout=20s"))
    await kubectl("delete", "deployment", "web", "--cascade=foreground")
    await waiting


async def test_custom_resources(kubectl: Kubectl) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    await kubectl("apply", "-f", "-", stdin=manifest(crd))
    await kubectl("wait", "crd/widgets.example.com", "--for=condition=Established", "--timeout=20s")
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    await kubectl("apply", "-f", "-", stdin=manifest(widget))
    header, row = (await kubectl("get", "wd")).out.splitlines()
    assert (header.split(), row.split()) == (["NAME", "SIZE"], ["w", "3"])
    assert "size" in (await kubectl("explain", "widget.spec")).out
    bad = {**widget, "spec": {"size": "big"}}
    refused = await kubectl("apply", "--validate=ignore", "-f", "-", stdin=manifest(bad), fails=True)
    assert "spec.size: Invalid value" in refused.err
    await kubectl("delete", "crd", "widgets.example.com")
    assert "NotFound" in (await kubectl("get", "wd", fails=True)).err


async def test_a_namespace_goes_with_all_that_is_in_it(kubectl: Kubectl) -> None:
    await kubectl("create", "namespace", "mine")
    await kubectl("create", "configmap", "a", "-n", "mine")
    await kubectl("delete", "namespace", "mine", "--timeout=30s")
    assert "NotFound" in (await kubectl("get", "ns", "mine", fails=True)).err
