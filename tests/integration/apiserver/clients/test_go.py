"""Go programs: client-go's typed clients, whose bodies are protobuf, and a controller-runtime manager."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.integration.apiserver.clients.building import go_client
from tests.integration.apiserver.clients.comparison import Both
from tests.integration.apiserver.clients.programs import Program

from kapstan.machinery.codec import to_yaml

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]  # a machine that builds for the first time needs minutes

WAIT = "--timeout=120s"


@pytest.fixture(scope="session")
def binary() -> Path:
    return go_client()


def test_typed_clients_get_the_same_answers_from_both_servers(both: Both, binary: Path) -> None:
    ours, theirs = (
        Program([binary], kubectl.kubeconfig).ok("typed", both.namespace).splitlines()
        for kubectl in (both.embedded, both.real)
    )
    assert [json.loads(line) for line in ours] == [json.loads(line) for line in theirs]
    assert len(ours) > 30


SITES = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "sites.go.kapstan.test"},
    "spec": {
        "group": "go.kapstan.test",
        "scope": "Namespaced",
        "names": {"plural": "sites", "kind": "Site"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def test_a_manager_leads_reconciles_and_hands_over(cluster: Program, binary: Path, tmp_path: Path) -> None:
    here = ("-n", "sites")
    cluster.ok("create", "namespace", "sites")
    cluster.ok("apply", "-f", "-", stdin=to_yaml(SITES))
    cluster.ok("wait", "crd/sites.go.kapstan.test", "--for=condition=Established", WAIT)
    site = {"apiVersion": "go.kapstan.test/v1", "kind": "Site", "metadata": {"name": "one"}, "spec": {"replicas": 2}}
    manager = Program([binary], cluster.kubeconfig)
    with manager.running("manager", "sites", log=tmp_path / "first.log") as first:
        assert heard(first) == ("elected", "sites")
        with manager.running("manager", "sites", log=tmp_path / "second.log") as second:
            cluster.ok("create", "-f", "-", *here, stdin=to_yaml(site))
            cluster.ok("wait", "site/one", "--for=jsonpath={.status.ready}=2", WAIT, *here)
            cluster.ok("patch", "site", "one", "--type=merge", "-p", '{"spec":{"replicas":3}}', *here)
            cluster.ok("wait", "site/one", "--for=jsonpath={.status.ready}=3", WAIT, *here)
            cluster.ok("delete", "deployment", "one", *here)  # it is made again
            cluster.until("wait", "deployment/one", "--for=jsonpath={.status.readyReplicas}=3", WAIT, *here)
            first.terminate()
            assert heard(second) == ("elected", "sites")
            cluster.ok("delete", "site", "one", WAIT, *here)
            assert heard(second) == ("finalized", "one")
            cluster.ok("wait", "deployment/one", "--for=delete", WAIT, *here)
    reasons = cluster.ok("get", "events", "-o", "jsonpath={.items[*].reason}", *here)
    assert {"Deployed", "LeaderElection"} <= set(reasons.split())


def heard(process: subprocess.Popen[str]) -> tuple[str, Any]:
    """The next thing that a program says."""
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    return said["what"], said["result"]
