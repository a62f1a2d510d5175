"""A real kube-controller-manager and kube-scheduler run a cluster whose API server is ours; our controllers are off."""

from __future__ import annotations

import json

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.integration.apiserver.clients.programs import Program

from kapstan.machinery.codec import to_yaml

pytestmark = pytest.mark.real

WAIT = "--timeout=120s"


@pytest.fixture
def namespace(cluster: Program, request: pytest.FixtureRequest) -> str:
    """A namespace with its account, without which there are no pods."""
    name: str = request.node.name.replace("_", "-")[:60].rstrip("-")
    cluster.ok("create", "namespace", name)
    cluster.ok("wait", "serviceaccount/default", "--for=create", "-n", name, WAIT)
    cluster.ok("wait", "configmap/kube-root-ca.crt", "--for=create", "-n", name, WAIT)
    return name


def test_a_deployment_becomes_pods_and_is_rolled_out(cluster: Program, namespace: str) -> None:
    here = ("-n", namespace)
    cluster.ok("create", "deployment", "web", "--image=nginx:1", "--replicas=2", *here)
    cluster.ok("rollout", "status", "deployment/web", WAIT, *here)
    nodes = cluster.ok("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}", *here)
    assert nodes == "node-1 node-1"
    cluster.ok("set", "image", "deployment/web", "nginx=nginx:2", *here)
    cluster.ok("rollout", "status", "deployment/web", WAIT, *here)
    assert cluster.ok("rollout", "history", "deployment/web", *here).count("<none>") == 2
    cluster.ok("rollout", "undo", "deployment/web", *here)
    cluster.ok("rollout", "status", "deployment/web", WAIT, *here)
    images = "jsonpath={.items[*].spec.template.spec.containers[0].image}"
    assert cluster.ok("get", "deployment", "-o", images, *here) == "nginx:1"
    cluster.ok("rollout", "restart", "deployment/web", *here)
    cluster.ok("rollout", "status", "deployment/web", WAIT, *here)
    assert "SuccessfulCreate" in cluster.ok("get", "events", "-o", "jsonpath={.items[*].reason}", *here)
    cluster.ok("expose", "deployment", "web", "--port=80", *here)
    slices = "--for=jsonpath={.endpoints[1].conditions.ready}=true"
    cluster.until("wait", "endpointslice", "-l", "kubernetes.io/service-name=web", slices, "--timeout=10s", *here)


def test_what_is_owned_goes_with_its_owner(cluster: Program, namespace: str) -> None:
    here = ("-n", namespace)
    cluster.ok("create", "deployment", "web", "--image=nginx", "--replicas=2", *here)
    cluster.ok("rollout", "status", "deployment/web", WAIT, *here)
    cluster.ok("delete", "deployment", "web", "--cascade=foreground", WAIT, *here)
    assert cluster.ok("get", "replicasets,pods", "-o", "name", *here) == ""
    cluster.ok("create", "deployment", "left", "--image=nginx", *here)
    cluster.ok("rollout", "status", "deployment/left", WAIT, *here)
    cluster.ok("delete", "deployment", "left", "--cascade=orphan", WAIT, *here)
    assert "replicaset" in cluster.ok("get", "replicasets", "-o", "name", *here)
    cluster.ok("delete", "replicasets", "--all", "--cascade=background", WAIT, *here)
    cluster.ok("wait", "pods", "--all", "--for=delete", WAIT, *here)


def test_a_job_completes(cluster: Program, namespace: str) -> None:
    cluster.ok("create", "job", "once", "--image=busybox", "-n", namespace)
    cluster.ok("wait", "job/once", "--for=condition=Complete", WAIT, "-n", namespace)


def test_stateful_and_daemon_sets_have_their_pods(cluster: Program, namespace: str) -> None:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "busybox"}]}}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    for kind, more in {"StatefulSet": {"serviceName": "x", "replicas": 2}, "DaemonSet": {}}.items():
        labels = json.loads(json.dumps({**spec, **more}).replace('"x"', f'"{kind.lower()}"'))
        made = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": labels}
        cluster.ok("create", "-f", "-", "-n", namespace, stdin=to_yaml(made))
    cluster.ok("rollout", "status", "statefulset/x", WAIT, "-n", namespace)
    cluster.ok("rollout", "status", "daemonset/x", WAIT, "-n", namespace)


def test_a_namespace_ends_with_all_that_is_in_it(cluster: Program, namespace: str) -> None:
    cluster.ok("create", "deployment", "web", "--image=nginx", "-n", namespace)
    cluster.ok("create", "configmap", "a", "-n", namespace)
    cluster.ok("delete", "namespace", namespace, WAIT)
    assert "NotFound" in cluster.fails("get", "namespace", namespace)


def test_a_pod_that_fits_nowhere_is_told_so(cluster: Program, namespace: str) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "big"},
        "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "99"}}}]},
    }
    cluster.ok("create", "-f", "-", "-n", namespace, stdin=to_yaml(pod))
    reason = '--for=jsonpath={.status.conditions[?(@.type=="PodScheduled")].reason}=Unschedulable'
    cluster.ok("wait", "pod/big", reason, WAIT, "-n", namespace)
    assert "Insufficient cpu" in cluster.ok("describe", "pod", "big", "-n", namespace)


def test_a_certificate_is_signed(cluster: Program) -> None:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")])
    key = ec.generate_private_key(ec.SECP256R1())
    asked = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    pem = asked.public_bytes(serialization.Encoding.PEM)
    request = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "jane"},
        "spec": {"request": pem, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]},
    }
    cluster.ok("create", "-f", "-", stdin=to_yaml(request))
    cluster.ok("certificate", "approve", "jane")
    cluster.ok("wait", "csr/jane", "--for=jsonpath={.status.certificate}", WAIT)
