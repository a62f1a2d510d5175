"""The samples as programs: where they are, how they are run, and with which rights."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from kapstan.machinery.gvk import GroupVersionKind
from kapstan.testing import Environment

ROOT = Path(__file__).parents[3]


class Sample:
    """A sample's folder, and its operator as a process."""

    def __init__(self, name: str, module: str, kind: GroupVersionKind) -> None:
        self.name, self.module, self.kind = name, module, kind
        self.folder = ROOT / "samples" / name

    @property
    def environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PYTHONPATH": "src", "ENABLE_WEBHOOKS": "false"}

    def object(self, name: str, namespace: str, **spec: Any) -> dict[str, Any]:
        return {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }

    async def install(self, env: Environment, user: str) -> None:
        """Have the CRDs, and a user with the generated roles and no other rights."""
        await env.install(self.folder / "config/crd/bases")
        for file in ("role.yaml", "leader_election_role.yaml"):
            role = yaml.safe_load((self.folder / "config/rbac" / file).read_text())
            role["metadata"] = {"name": f"{user}-{role['metadata']['name']}"}
            if role["kind"] == "Role":
                role["metadata"]["namespace"] = "default"
            await env.client.apply(role)
            await env.client.apply(_binding(role, user))

    @asynccontextmanager
    async def process(
        self, env: Environment, folder: Path, user: str, *flags: str
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """The operator, as a process of its own; killed at the end of the block."""
        kubeconfig = env.write_kubeconfig(folder / f"{user}.kubeconfig", user)
        probes = [] if self.module.endswith(".clientgo") else ["--health-probe-bind-address=0"]
        with (folder / "operator.log").open("a") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                self.module,
                f"--kubeconfig={kubeconfig}",
                *probes,
                *flags,
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
            )
            try:
                yield process
            finally:
                if process.returncode is None:
                    process.kill()
                await process.wait()


def _binding(role: dict[str, Any], user: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": f"{role['kind']}Binding",
        "metadata": role["metadata"],
        "roleRef": {"apiGroup": group, "kind": role["kind"], "name": role["metadata"]["name"]},
        "subjects": [{"kind": "User", "apiGroup": group, "name": user}],
    }


MEMCACHED = GroupVersionKind("cache.example.com", "v1alpha1", "Memcached")
BAR = GroupVersionKind("samplecontroller.example.com", "v1alpha1", "Bar")
SAMPLES = {
    "memcached": Sample("memcached", "memcached_operator", MEMCACHED),
    "bar": Sample("bar", "bar_operator", BAR),
    "bar-clientgo": Sample("bar", "bar_operator.clientgo", BAR),
}


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Sample:
    """Each operator."""
    return SAMPLES[request.param]


@pytest.fixture
def samples() -> dict[str, Sample]:
    return SAMPLES
