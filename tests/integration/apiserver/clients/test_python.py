"""Python programs: the official client, typed and dynamic, and an operator that is made with kopf."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.apiserver.clients.building import python_with_clients
from tests.integration.apiserver.clients.comparison import Both
from tests.integration.apiserver.clients.programs import Program

from kapstan.machinery.codec import to_yaml

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]  # a machine that installs for the first time needs minutes

SOURCES = Path(__file__).with_name("python")
WAIT = "--timeout=120s"


@pytest.fixture(scope="session")
def python() -> Path:
    return python_with_clients()


def test_the_official_client_gets_the_same_answers_from_both_servers(both: Both, python: Path) -> None:
    ours, theirs = (
        Program([python, SOURCES / "official.py"], kubectl.kubeconfig).ok(both.namespace).splitlines()
        for kubectl in (both.embedded, both.real)
    )
    assert [json.loads(line) for line in ours] == [json.loads(line) for line in theirs]
    assert len(ours) > 20


GREETINGS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "greetings.kopf.kapstan.test"},
    "spec": {
        "group": "kopf.kapstan.test",
        "scope": "Namespaced",
        "names": {"plural": "greetings", "kind": "Greeting"},
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


def test_a_kopf_operator_follows_its_objects(kubectl: Program, namespace: str, python: Path, tmp_path: Path) -> None:
    here = ("-n", namespace)
    text = "--for=jsonpath={.data.text}=Hello, "
    kubectl.ok("apply", "-f", "-", stdin=to_yaml(GREETINGS))
    kubectl.ok("wait", "crd/greetings.kopf.kapstan.test", "--for=condition=Established", WAIT)
    greeting = {
        "apiVersion": "kopf.kapstan.test/v1",
        "kind": "Greeting",
        "metadata": {"name": "g"},
        "spec": {"whom": "world"},
    }
    operator = Program([python, "-m", "kopf", "run", SOURCES / "greeter.py"], kubectl.kubeconfig)
    with operator.running("-n", namespace, log=tmp_path / "log") as running:
        assert running.stdout is not None
        kubectl.ok("create", "-f", "-", *here, stdin=to_yaml(greeting))
        kubectl.ok("wait", "configmap/g", "--for=create", WAIT, *here)
        kubectl.ok("wait", "configmap/g", f"{text}world!", WAIT, *here)
        kubectl.ok("wait", "greeting/g", "--for=jsonpath={.status.made.greeted}=world", WAIT, *here)
        kubectl.ok("patch", "greeting", "g", "--type=merge", "-p", '{"spec":{"whom":"kopf"}}', *here)
        kubectl.ok("wait", "configmap/g", f"{text}kopf!", WAIT, *here)
        kubectl.ok("wait", "greeting/g", "--for=jsonpath={.status.changed}=world to kopf", WAIT, *here)
        kubectl.ok("delete", "greeting", "g", WAIT, *here)
        assert running.stdout.readline() == "gone g\n"
        kubectl.ok("wait", "configmap/g", "--for=delete", WAIT, *here)
        kubectl.ok("create", "configmap", "other", *here)
        kubectl.ok("label", "configmap", "other", "seen-by=kopf", *here)
        assert running.stdout.readline().startswith("seen ")
