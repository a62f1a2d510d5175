"""Scaffolded projects of every shape: their own make targets work, and a real API server accepts what they deploy."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kapstan.client import Client, Config
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.testing import Environment

DEPLOY_IMAGE = (
    "create api --group cache --version v1alpha1 --kind Memcached --plugins deploy-image/v1-alpha "
    "--image memcached:1.6.39 --image-container-command memcached,--memory-limit=64,-o,modern,-v "
    "--image-container-port 11211 --run-as-user 1001 --make=false"
)
WEBHOOKS = "--defaulting --programmatic-validation --make=false"

# The name of a project, and the commands that make it.
SHAPES: dict[str, list[str]] = {
    "plain": [
        "init --domain plain.dev --license apache2 --owner Authors",
        "create api --group web --version v1beta1 --kind Site --resource --controller --make=false",
        "create api --group web --version v1 --kind Site --resource --controller=false --make=false",
        f"create webhook --group web --version v1beta1 --kind Site --conversion --spoke v1 {WEBHOOKS}",
    ],
    "multigroup": [
        "init --domain multi.dev --multigroup",
        "create api --group web --version v1 --kind Site --resource --controller --make=false",
        "create api --group shop --version v1 --kind Site --resource --controller --plural shops --make=false",
        "create api --group shop --version v1 --kind Zone --resource --controller --namespaced=false --make=false",
        "create api --group apps --version v1 --kind Deployment --resource=false --controller --make=false",
        f"create webhook --group shop --version v1 --kind Site {WEBHOOKS}",
        "create webhook --group core --version v1 --kind Pod --programmatic-validation --make=false",
    ],
    "namespaced": [
        "init --domain spaced.dev --namespaced",
        "create api --group web --version v1 --kind Site --resource --controller --make=false",
        f"create webhook --group web --version v1 --kind Site {WEBHOOKS}",
    ],
    "deploy-image": ["init --domain image.dev", DEPLOY_IMAGE],
}
# What cert-manager would have installed.
CERT_MANAGER = {"certificates": "Certificate", "issuers": "Issuer"}


def stand_in(plural: str, kind: str) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}},
            ],
        },
    }


@pytest.mark.timeout(600)
@pytest.mark.real
@pytest.mark.parametrize("shape", SHAPES)
async def test_a_project_passes_its_own_checks_and_can_be_deployed(
    shape: str, new_project: Callable[[str], Any], real: Environment
) -> None:
    """What a developer does on the first day: lint, test, build the installer, deploy."""
    project = new_project(shape)
    for command in SHAPES[shape]:
        project.kapstan(command)
    project.make("lint")
    assert " passed" in project.make("test")
    assert "wrote" not in project.make("manifests"), "generated twice, the manifests are the same"
    installed = await deployed(project, real)
    deployment = next(one for one in installed if one["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == f"example.com/{shape}:v1"
    assert deployment["metadata"]["namespace"] == f"{shape}-system"
    role = "Role" if shape == "namespaced" else "ClusterRole"
    assert (role, f"{shape}-manager-role") in {(one["kind"], one["metadata"]["name"]) for one in installed}


async def deployed(project: Any, real: Environment) -> list[dict[str, Any]]:
    """Deploy to the real API server, which validates strictly; what was installed."""
    await real.install(*(stand_in(plural, kind) for plural, kind in CERT_MANAGER.items()))
    name = project.folder.name
    project.environment["KUBECONFIG"] = str(real.write_kubeconfig(project.folder.parent / f"{name}.kubeconfig"))
    project.make("install")
    await real.install(project.folder / "config/crd/bases")  # it waits until they are served
    if "conversion" not in str(SHAPES[name]):  # for which somebody would have to answer
        project.run(
            project.environment["KUBECTL"], "apply", "--server-side", "--dry-run=server", "-k", "config/samples"
        )
    project.make("deploy", f"IMG=example.com/{name}:v1")
    found = list(yaml.safe_load_all((project.folder / "dist/install.yaml").read_text()))
    for one in found:
        gvk = GroupVersionKind.of(one["apiVersion"], one["kind"])
        metadata = one["metadata"]
        assert await real.client.get(gvk, metadata["name"], metadata.get("namespace", ""))
    # Webhooks that nobody serves would refuse what other tests write.
    for one in found:
        if one["kind"].endswith("WebhookConfiguration"):
            await real.client.delete(one)
    return found


@pytest.mark.parametrize("shape", SHAPES)
async def test_an_operator_runs_on_the_embedded_server(shape: str, new_project: Callable[[str], Any]) -> None:
    """`make apiserver`, `make install`, `make run`: an object that is then applied is reconciled.

    Without conversion, for `make run` serves no webhooks; `make test` has them called.
    """
    project = new_project(shape)
    for command in SHAPES[shape]:
        if "--conversion" not in command:
            project.kapstan(command)
    kubeconfig: Path = project.folder / "kubeconfig"
    async with project.running("make", "VENV=", "apiserver"):
        config = await connected(kubeconfig)
        project.environment["KUBECONFIG"] = str(kubeconfig)
        project.make("install")
        ports = "ARGS=--health-probe-bind-address=127.0.0.1:0"
        async with project.running("make", "VENV=", ports, "run"), Client(config) as client:
            project.run(project.environment["KUBECTL"], "apply", "-n", "default", "-k", "config/samples")
            await reconciled(client, project.folder)
            project.make("uninstall", "ignore-not-found=true")  # while somebody runs who takes finalizers away


async def connected(kubeconfig: Path) -> Config:
    """How to reach the API server, once it is there."""
    async with asyncio.timeout(90):
        while True:
            try:
                config = Config.load(kubeconfig)
                async with Client(config) as client:
                    await client.request("GET", "/readyz")
                return config
            except Exception:
                await asyncio.sleep(0.05)  # it is a process that starts: there is nothing to watch


async def reconciled(client: Client, folder: Path) -> None:
    """Wait until the operator has said something about each sample."""
    for path in sorted((folder / "config/samples").glob("*_*.yaml")):
        sample = yaml.safe_load(path.read_text())
        gvk = GroupVersionKind.of(sample["apiVersion"], sample["kind"])
        async with asyncio.timeout(90), client.watch(gvk, "default") as events:
            async for event in events:
                if event.object.get("status", {}).get("conditions"):
                    break


@pytest.mark.slow
def test_a_project_works_on_a_fresh_machine(new_project: Callable[[str], Any]) -> None:
    """Its own virtual environment, nothing but Python and make: `make test build` right after `create api`."""
    project = new_project("fresh")
    for command in SHAPES["plain"][:2]:
        project.kapstan(command)
    source = Path(__file__).parents[3]
    environment = {key: value for key, value in project.environment.items() if key != "PATH"}
    environment["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    for targets in (["test"], ["lint"], ["build"]):
        done = subprocess.run(
            ["make", f"KAPSTAN_SOURCE={source}", *targets],
            cwd=project.folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert list((project.folder / "dist").glob("*.whl"))
