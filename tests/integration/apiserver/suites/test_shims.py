"""The programs that `kapstan envtest` writes keep the contract by which Go's envtest starts and ends its own."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

from kapstan.apiserver.envtest import assets
from kapstan.components.ports import free_ports
from kapstan.machinery.pki import KeyAlgorithm, Usage, new_ca, new_signing_key

PATIENCE = 60.0  # seconds for a program to start or to end, on a busy machine


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assets")
    assets.write(folder)
    return folder


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as envtest fills it: one authority for the server, another for clients, a key for tokens."""
    folder = tmp_path_factory.mktemp("certs")
    serving, clients, tokens = new_ca("serving"), new_ca("clients"), new_signing_key(KeyAlgorithm.RSA_2048)
    pair = serving.issue("x", dns_names=["localhost"], ip_addresses=["127.0.0.1"], usages=[Usage.SERVER])
    admin = clients.issue("default", organizations=["system:masters"])
    files = {
        "serving-ca.crt": serving.cert_pem,
        "apiserver.crt": pair.cert_pem,
        "apiserver.key": pair.key_pem,
        "client-cert-auth-ca.crt": clients.cert_pem,
        "admin.pem": admin.cert_pem + admin.key_pem,
        "sa-signer.crt": tokens.public_pem,
        "sa-signer.key": tokens.key_pem,
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@contextmanager
def running(command: Sequence[str | Path]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0


def eventually(holds: Callable[[], bool]) -> None:
    """Ask as often as envtest does."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def status(connection: HTTPConnection, path: str) -> int:
    """What a GET is answered with; 0 while nobody answers."""
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


class Server:
    """A kube-apiserver that listens, and an administrator with a certificate of the other authority."""

    def __init__(self, port: int, certificates: Path) -> None:
        self.port = port
        self._anonymous = ssl.create_default_context(cafile=certificates / "serving-ca.crt")
        self._admin = ssl.create_default_context(cafile=certificates / "serving-ca.crt")
        self._admin.load_cert_chain(certificates / "admin.pem")

    def is_healthy(self) -> bool:
        return status(self._connect(self._anonymous), "/healthz") == 200

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        with closing(self._connect(self._admin)) as connection:
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def created(self, path: str, **fields: Any) -> dict[str, Any]:
        code, answer = self.ask("POST", path, fields)
        assert code == 201, answer
        return answer

    def is_gone(self, path: str) -> bool:
        return self.ask("GET", path)[0] == 404

    def _connect(self, context: ssl.SSLContext) -> HTTPSConnection:
        return HTTPSConnection("127.0.0.1", self.port, context=context, timeout=PATIENCE)


def flags(certificates: Path, port: int) -> list[str]:
    """Those that envtest gives."""
    return [
        "--allow-privileged=true",
        "--authorization-mode=RBAC",
        "--bind-address=127.0.0.1",
        f"--cert-dir={certificates}",
        f"--client-ca-file={certificates / 'client-cert-auth-ca.crt'}",
        "--disable-admission-plugins=ServiceAccount",
        "--etcd-servers=http://127.0.0.1:1",
        f"--secure-port={port}",
        f"--service-account-issuer=https://127.0.0.1:{port}/",
        f"--service-account-key-file={certificates / 'sa-signer.crt'}",
        f"--service-account-signing-key-file={certificates / 'sa-signer.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
    ]


@pytest.fixture(scope="module")
def server(programs: Path, certificates: Path) -> Iterator[Server]:
    (port,) = free_ports(1)
    server = Server(port, certificates)
    with running([programs / "kube-apiserver", *flags(certificates, port)]) as process:
        eventually(lambda: process.poll() is not None or server.is_healthy())
        yield server


@pytest.mark.parametrize("program", ["kube-apiserver", "etcd"])
def test_help_ends_well_and_knows_no_insecure_port(programs: Path, program: str) -> None:
    said = subprocess.run([programs / program, "--help"], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert "Flags:" in said.stdout
    assert "insecure-port" not in said.stdout


def test_etcd_is_healthy_until_it_is_told_to_end(programs: Path, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    with running([programs / "etcd", f"--data-dir={tmp_path}", f"--listen-client-urls={url}"]):
        eventually(lambda: status(HTTPConnection("127.0.0.1", port, timeout=PATIENCE), "/health") == 200)


def test_envtests_administrator_may_do_everything(server: Server) -> None:
    code, namespaces = server.ask("GET", "/api/v1/namespaces")
    assert code == 200
    assert "default" in [item["metadata"]["name"] for item in namespaces["items"]]


def test_services_are_in_the_network_that_was_given(server: Server) -> None:
    service = server.created(
        "/api/v1/namespaces/default/services", metadata={"name": "web"}, spec={"ports": [{"port": 80}]}
    )
    assert service["spec"]["clusterIP"].startswith("10.0.0.")


def test_pods_need_no_service_account(server: Server) -> None:
    """envtest switches the plugin off, since nobody would make the account."""
    spec = {"containers": [{"name": "a", "image": "a"}]}
    pod = server.created("/api/v1/namespaces/default/pods", metadata={"name": "a"}, spec=spec)
    assert "serviceAccountName" not in pod["spec"]


def test_tokens_name_the_issuer_that_was_given(server: Server) -> None:
    server.created("/api/v1/namespaces/default/serviceaccounts", metadata={"name": "robot"})
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    token = server.created(path, spec={"audiences": []})["status"]["token"]
    review = server.created("/apis/authentication.k8s.io/v1/tokenreviews", spec={"token": token})
    assert review["status"]["user"]["username"] == "system:serviceaccount:default:robot"
    assert review["status"]["audiences"][0].startswith("https://127.0.0.1:")


def test_dependents_and_namespaces_go_away(server: Server) -> None:
    """With the real kube-apiserver alone both would stay."""
    server.created("/api/v1/namespaces", metadata={"name": "passing"})
    maps = "/api/v1/namespaces/passing/configmaps"
    owner = server.created(maps, metadata={"name": "owner"})["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    server.created(maps, metadata={"name": "owned", "ownerReferences": [reference]})
    assert server.ask("DELETE", f"{maps}/owner")[0] == 200
    eventually(lambda: server.is_gone(f"{maps}/owned"))
    assert server.ask("DELETE", "/api/v1/namespaces/passing")[0] == 200
    eventually(lambda: server.is_gone("/api/v1/namespaces/passing"))


def test_a_port_in_use_is_told_in_a_sentence(programs: Path, certificates: Path, server: Server) -> None:
    command = [str(programs / "kube-apiserver"), *flags(certificates, server.port)]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert said.returncode == 1
    assert said.stderr.startswith(f"kube-apiserver (kapstan): cannot listen on 127.0.0.1:{server.port}")
    assert said.stderr.count("\n") == 1
