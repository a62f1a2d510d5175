"""What a server does not need to start is not imported before somebody needs it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, sys
from kapstan.apiserver.server import EmbeddedServer

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]
POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "p"},
    "spec": {"matchConstraints": {"resourceRules": RULES}, "validations": [{"expression": "1 == 1"}]},
}

def imported():
    return "kapstan.apiserver.schema.cel.evaluate" in sys.modules

async def main():
    async with EmbeddedServer() as server:
        await server.cluster.api.create(CONFIG_MAP)
        before = imported()
        await server.cluster.api.create(POLICY)
        print(before, imported())

asyncio.run(main())
"""


def test_expressions_are_not_evaluated_before_there_is_one() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["False", "True"], ran.stderr
