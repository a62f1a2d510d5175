"""A cluster of real components around our API server: kube-controller-manager, kube-scheduler, and one node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from tests.integration.apiserver.clients.programs import Program, kubeconfig_of, program, served, write_private

from kapstan.apiserver.controllers.manager import KUBE_CONTROLLER_MANAGER
from kapstan.apiserver.server import EmbeddedServer
from kapstan.components.controllermanager import ControllerManager, controller_manager_arguments
from kapstan.components.ports import free_ports
from kapstan.components.scheduler import Scheduler, scheduler_arguments
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.pki import Usage

__all__ = ("control_plane", "real_components")

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "labels": {"kubernetes.io/os": "linux"}}}
NODE_STATUS = {
    "capacity": {"cpu": "8", "memory": "16Gi", "pods": "110"},
    "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}],
}


class Kubelet:
    """What a kubelet tells the API server of its pods, without running them."""

    def __init__(self, kubectl: Program) -> None:
        self._kubectl = kubectl
        self._stop = Event()
        self._thread = Thread(target=self._run, name="kubelet")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            for pod in json.loads(self._kubectl.ok("get", "pods", "-A", "-o", "json"))["items"]:
                self._report(pod)

    def _report(self, pod: dict[str, Any]) -> None:
        where = (pod["metadata"]["name"], "-n", pod["metadata"]["namespace"])
        if "deletionTimestamp" in pod["metadata"]:
            self._kubectl("delete", "pod", *where, "--grace-period=0", "--force", "--wait=false")
        elif pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending":
            finished = pod["spec"]["restartPolicy"] == "Never"
            ready = [{"type": "Ready", "status": "False" if finished else "True"}]
            status = {"phase": "Succeeded" if finished else "Running", "podIP": "10.1.2.3", "conditions": ready}
            patch = ("--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
            self._kubectl("patch", "pod", *where, *patch)


@contextmanager
def real_components(folder: Path) -> Iterator[Program]:
    """kubectl on such a cluster, inside the block. Our own controllers are off, and the kubelet only says what is."""
    with ExitStack() as stack:
        server = stack.enter_context(served(without_controllers=KUBE_CONTROLLER_MANAGER))
        kubectl = Program([program("kubectl")], kubeconfig_of(server, folder))
        stack.enter_context(control_plane(server, folder))
        kubectl.ok("create", "-f", "-", stdin=to_yaml(NODE))
        status = json.dumps({"status": NODE_STATUS})
        kubectl.ok("patch", "node", "node-1", "--subresource=status", "--type=merge", "-p", status)
        stack.enter_context(Kubelet(kubectl))
        yield kubectl


@contextmanager
def control_plane(server: EmbeddedServer, folder: Path) -> Iterator[None]:
    """kube-controller-manager and kube-scheduler on a server, inside the block."""
    with ExitStack() as stack:
        for name, arguments in _components(server, folder).items():
            component = Program([program(f"kube-{name}")], folder / f"{name}.conf")
            stack.enter_context(component.running(*arguments, log=folder / f"{name}.log"))
        yield


def _components(server: EmbeddedServer, folder: Path) -> dict[str, tuple[str, ...]]:
    """The arguments of each component, and the files that these name."""
    credentials = server.cluster.credentials
    pki = folder / "pki"
    pki.mkdir()
    for name, content in {
        "ca.crt": credentials.ca.cert_pem,
        "front-proxy-ca.crt": credentials.ca.cert_pem,
        "ca.key": credentials.ca.key_pem,
        "sa.key": credentials.signing_key.key_pem,
    }.items():
        write_private(pki / name, content)
    for name in ("controller-manager", "scheduler"):
        serving = credentials.ca.issue(name, ip_addresses=("127.0.0.1",), usages=[Usage.SERVER])
        write_private(pki / f"{name}.crt", serving.cert_pem)
        write_private(pki / f"{name}.key", serving.key_pem)
        config = kubeconfig_of(server, folder, f"system:kube-{name}")
        config.rename(folder / f"{name}.conf")
    ports = free_ports(2)
    manager = ControllerManager(
        port=ports[0],
        certificates=pki,
        kubeconfig=folder / "controller-manager.conf",
        # There is no kubelet that renews the node's lease.
        extra_arguments=(("node-monitor-grace-period", "1h"),),
    )
    scheduler = Scheduler(port=ports[1], certificates=pki, kubeconfig=folder / "scheduler.conf")
    return {
        "controller-manager": controller_manager_arguments(manager),
        "scheduler": scheduler_arguments(scheduler),
    }
