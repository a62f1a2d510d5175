"""kubectl reads: every form of output is, word for word, what it is on the real server."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.apiserver.clients.comparison import Both
from tests.integration.apiserver.clients.programs import Program, Said

from kapstan.machinery.codec import to_yaml

pytestmark = pytest.mark.real


def manifest(*documents: dict[str, Any]) -> str:
    return "---\n".join(map(to_yaml, documents))


def deployment(name: str, replicas: int) -> dict[str, Any]:
    container = {"name": "web", "image": "nginx:1.27", "ports": [{"containerPort": 80, "name": "http"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }


def pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name, "tier": "back"}},
        "spec": {"serviceAccountName": "default", "containers": [container], **spec},
    }


ACCOUNT = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "default"},
    "automountServiceAccountToken": False,  # the real server of the tests does not mount any
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"port": 80, "name": "http"}]},
}
DATA = [
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"a": "1", "b": "two\nlines\n"},
    },
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"password": "hidden"}},
]
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "once"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}}},
}


@pytest.fixture
def filled(both: Both) -> Both:
    """Both servers with the same objects."""
    objects = [ACCOUNT, deployment("web", 3), pod("one"), pod("two", nodeName="node-1"), SERVICE, JOB, *DATA]
    said = both("create", "-f", "-", stdin=manifest(*objects))
    assert said.code == 0, said
    return both


GET = """
get deployments
get deployments -o wide
get deployment web -o yaml
get deployment/web -o json
get deploy,pods,svc,cm,secrets -o name
get pods
get pods -o wide
get pods --show-labels
get pods -L app,tier
get pods --no-headers
get pods -o jsonpath={.items[*].metadata.name}
get pods -o jsonpath={range.items[*]}{.metadata.name}={.spec.nodeName};{end}
get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,CPU:.spec.containers[*].resources.requests.cpu
get pods -o go-template={{range.items}}{{.metadata.name}},{{end}}
get pods --selector app=one
get pods -l app!=one,tier
get pods -l app=nothing
get pods --field-selector spec.nodeName=node-1
get pods --field-selector status.phase!=Running,metadata.name=two
get pods --field-selector spec.nonsense=1
get pods -l a=b=c
get pods --sort-by .metadata.name
get pods --sort-by=.spec.nodeName -o name
get pods --chunk-size=1
get pods one two missing
get pod one -o yaml --show-managed-fields=false
get pods -A -l tier=back,nowhere
get all
get jobs,services
get configmap settings -o yaml
get secret keys -o yaml
get secret keys -o jsonpath={.data.password}
get --raw /api/v1/namespaces/kube-system/configmaps/nothing
get nonsense
get pods.v1.nonsense
get deployments.v1.apps
get pods/one --subresource=status -o name
get pods --server-print=false
get namespaces kube-system
get nodes
get events
get storageclasses,priorityclasses -o name
get clusterroles view -o wide
get clusterrolebindings cluster-admin -o wide
"""

DESCRIBE = """
describe deployment web
describe pods
describe pod two
describe service web
describe configmap settings
describe secret keys
describe job once
describe serviceaccount default
describe namespace kube-public
describe clusterrole system:basic-user
describe clusterrolebinding cluster-admin
describe pod missing
"""


def lines(text: str) -> Iterator[list[str]]:
    for line in text.strip().splitlines():
        yield line.split(" ")


def test_every_form_of_get(filled: Both) -> None:
    for line in lines(GET):
        filled(*line)


def test_descriptions(filled: Both) -> None:
    for line in lines(DESCRIBE):
        filled(*line)


def test_events_of_an_object_are_described(filled: Both) -> None:
    """kubectl finds them by fields of the involved object."""
    uid = filled.embedded.ok("-n", filled.namespace, "get", "pod", "one", "-o", "jsonpath={.metadata.uid}")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "one.1", "namespace": filled.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "one",
            "namespace": filled.namespace,
            "uid": uid,
        },
        "reason": "Pulled",
        "message": "it is there",
        "type": "Normal",
        "source": {"component": "tester"},
    }
    filled.embedded.ok("create", "-f", "-", stdin=manifest(event))
    assert "it is there" in filled.embedded.ok("-n", filled.namespace, "describe", "pod", "one")
    assert "it is there" not in filled.embedded.ok("-n", filled.namespace, "describe", "pod", "two")
    assert "Pulled" in filled.embedded.ok("-n", filled.namespace, "events", "--for", "pod/one")


def test_a_watch_shows_every_change(kubectl: Program, namespace: str, tmp_path: Any) -> None:
    arguments = ("get", "configmaps", "-w", "-n", namespace, "-l", "watched", "--output-watch-events")
    with kubectl.running(*arguments, log=tmp_path / "log") as watching:
        assert watching.stdout is not None
        kubectl.ok("create", "configmap", "a", "-n", namespace)
        kubectl.ok("label", "configmap", "a", "-n", namespace, "watched=yes")
        header, row = (watching.stdout.readline().split() for _ in range(2))
        assert (header, row[:3]) == (["EVENT", "NAME", "DATA", "AGE"], ["ADDED", "a", "0"])
        kubectl.ok("patch", "configmap", "a", "-n", namespace, "-p", '{"data":{"k":"v"}}')
        assert watching.stdout.readline().split()[:3] == ["MODIFIED", "a", "1"]
        kubectl.ok("label", "configmap", "a", "-n", namespace, "watched-")
        assert watching.stdout.readline().split()[:2] == ["DELETED", "a"]


EXPLAIN = """
explain deployment.spec.strategy --recursive
explain pods.spec.containers.resources
explain configmap.data
explain ingress.spec.rules
explain customresourcedefinition.spec.names
explain pods.spec.nonsense
explain nonsense
"""


def test_what_there_is_and_what_it_means(both: Both) -> None:
    assert "Server Version: v1.36." in both.embedded.ok("version")
    for line in lines(EXPLAIN):
        ours, theirs = (_without_prose(kubectl(*line)) for kubectl in (both.embedded, both.real))
        assert ours == theirs, line
    for arguments in (["api-versions"], ["api-resources", "-o", "wide"], ["api-resources", "--api-group=apps"]):
        assert _without_tests(both.embedded.ok(*arguments)) == _without_tests(both.real.ok(*arguments))


def _without_prose(said: Said) -> list[str]:
    """The embedded server has Kubernetes' fields, not its descriptions of them."""
    return [said.err, *(line for line in said.out.splitlines() if re.search(r"^[A-Z]+:|\t<", line))]


def _without_tests(table: str) -> list[list[str]]:
    """Other tests install kinds on the real server."""
    return [line.split() for line in table.splitlines() if ".kapstan." not in line and "example." not in line]


AUTH = """
auth can-i create pods
auth can-i --list
auth can-i get pods --as nobody
auth can-i list pods --as somebody --as-group system:masters
auth can-i get /healthz --as nobody --as-group system:unauthenticated
auth can-i create nonsense
auth whoami
auth whoami -o jsonpath={.status.userInfo.username}
auth whoami --as somebody --as-group one --as-group two
cluster-info
get configmaps --as nobody
get --raw /readyz
"""


def test_who_may_do_what(both: Both) -> None:
    for line in lines(AUTH):
        both(*line)


def test_custom_kinds_have_their_columns_and_are_explained(both: Both) -> None:
    group = f"g{uuid.uuid4().hex[:8]}.kapstan.test"
    size = {"type": "integer", "description": "How big it is.", "minimum": 1}
    spec = {"type": "object", "description": "What is wanted.", "required": ["size"], "properties": {"size": size}}
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}, "since": {"type": "string"}}}
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Ready", "type": "boolean", "jsonPath": ".status.ready"},
        {"name": "Since", "type": "date", "jsonPath": ".status.since", "priority": 1},
    ]
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.n"}},
        "additionalPrinterColumns": columns,
    }
    names = {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"]}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    gadget = {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 3}}
    kind = f"gadgets.{group}"
    both("apply", "-f", "-", stdin=manifest(crd))
    both("wait", f"crd/{kind}", "--for=condition=Established", "--timeout=60s")
    both.until("get", kind)  # served a little later than its status says
    said = both("apply", "-f", "-", stdin=manifest(gadget))
    assert said.out == f"gadget.{group}/g created\n", said
    both("patch", kind, "g", "--subresource=status", "--type=merge", "-p", '{"status":{"ready":true}}')
    for arguments in (["get", kind], ["get", kind, "-o", "wide"], ["get", kind, "g", "-o", "yaml"], ["describe", kind]):
        assert both(*arguments).code == 0
    both("explain", f"{kind}.spec", "--recursive")
    both("scale", kind, "g", "--replicas=5")
    both("get", kind, "g", "-o", "jsonpath={.spec} {.metadata.generation}")
    both("apply", "--validate=ignore", "-f", "-", stdin=manifest({**gadget, "spec": {"size": "big"}}))
    both("apply", "-f", "-", stdin=manifest({**gadget, "spec": {"size": 0, "colour": "red"}}))
    both("patch", kind, "g", "-p", '{"spec":{"size":2}}')
    assert json.loads(both.embedded.ok("get", "--raw", f"/apis/{group}"))["preferredVersion"]["version"] == "v1"
    both("delete", "crd", kind, "--wait=false")
