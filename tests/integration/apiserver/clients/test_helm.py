"""helm keeps releases on our API server: custom kinds, hooks that are waited for, upgrades, roll-backs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.apiserver.clients.programs import Program, program

pytestmark = pytest.mark.real

CHART = str(Path(__file__).with_name("chart"))
WAIT = ("--wait", "--timeout=4m")


@pytest.fixture
def helm(cluster: Program) -> Program:
    """helm where jobs complete and deployments become available."""
    return Program([program("helm")], cluster.kubeconfig)


def test_a_release_from_its_first_day_to_its_last(helm: Program, cluster: Program) -> None:
    here = ("-n", "shop")
    helm.ok("install", "one", CHART, "--create-namespace", *WAIT, *here)
    assert data(cluster, "one") == {
        "greeting": "hello",
        "revision": "1",
        "served": "true",
        "version": "36",
        "known": "kube-system",
    }
    assert data(cluster, "one-said") == {"revision": "1"}
    assert "NotFound" in cluster.fails("get", "job", "one-prepare", *here)
    assert cluster.ok("get", "stalls", "-o", "jsonpath={.items[*].spec.goods}", *here) == '["apples","pears"]'
    assert "STATUS: deployed" in helm.ok("status", "one", *here)
    assert "Succeeded" in helm.ok("test", "one", "--timeout=4m", *here)

    helm.ok("upgrade", "one", CHART, "--set", "greeting=goodbye,replicas=2", *WAIT, *here)
    assert data(cluster, "one")["greeting"] == "goodbye"
    assert cluster.ok("get", "deployment", "one", "-o", "jsonpath={.status.readyReplicas}", *here) == "2"
    history = json.loads(helm.ok("history", "one", "-o", "json", *here))
    assert [(one["revision"], one["status"]) for one in history] == [(1, "superseded"), (2, "deployed")]

    helm.ok("rollback", "one", "1", *WAIT, *here)
    assert (data(cluster, "one")["greeting"], data(cluster, "one-said")) == ("hello", {"revision": "1"})
    assert cluster.ok("get", "deployment", "one", "-o", "jsonpath={.spec.replicas}", *here) == "1"

    helm.ok("uninstall", "one", *WAIT, *here)
    assert helm.ok("list", "-q", *here) == ""
    left = cluster.ok("get", "configmaps,deployments,services,secrets,stalls", "-o", "name", *here).split()
    assert sorted(left) == ["configmap/kube-root-ca.crt", "configmap/one-said"]


def test_what_somebody_else_changed_is_a_conflict(helm: Program, cluster: Program) -> None:
    """helm applies on the server: it does not overwrite what another manager has taken, unless it is told to."""
    here = ("-n", "taken")
    helm.ok("install", "one", CHART, "--create-namespace", "--no-hooks", *here)
    theirs = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"greeting":"theirs"}}'
    apply = ("apply", "--server-side", "--field-manager=they", "--force-conflicts", "-f", "-")
    cluster.ok(*apply, *here, stdin=theirs)
    change = ("upgrade", "one", CHART, "--no-hooks", "--set", "greeting=ours", *here)
    assert 'conflict with "they"' in helm.fails(*change)
    helm.ok(*change, "--force-conflicts")
    assert cluster.ok("get", "configmap", "one", "-o", "jsonpath={.data.greeting}", *here) == "ours"


def test_a_chart_that_does_not_fit_is_refused_before_anything_is_made(helm: Program, cluster: Program) -> None:
    said = helm.fails("install", "bad", CHART, "-n", "default", "--no-hooks", "--set", "replicas=many")
    assert "replicas" in said
    assert "NotFound" in cluster.fails("get", "deployment", "bad", "-n", "default")


def data(cluster: Program, name: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(cluster.ok("get", "configmap", name, "-o", "jsonpath={.data}", "-n", "shop"))
    return found
