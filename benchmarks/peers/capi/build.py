"""Building Cluster API's managers: core, kubeadm bootstrap and control plane, and the development provider, whose
in-memory backend simulates machines. What they are is pinned in `go.mod`; programs and manifests are kept in the cache
folder, so that only the first time takes minutes.

As published they listen on every address of the machine, the simulated clusters even without asking who calls. Here
they are built to listen on the loopback address, on ports that nobody else uses: that, and nothing else, is changed in
their sources.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from kapstan.testing.installing import read_documents

__all__ = ("PROVIDERS", "Built", "build")

Document: TypeAlias = dict[str, Any]

HERE = Path(__file__).parent
CORE, TEST, RUNTIME = "sigs.k8s.io/cluster-api", "sigs.k8s.io/cluster-api/test", "sigs.k8s.io/controller-runtime"

# Each provider: its module, and the folder of its program and manifests inside of that.
PROVIDERS = {
    "core": (CORE, "core"),
    "bootstrap": (CORE, "bootstrap/kubeadm"),
    "controlplane": (CORE, "controlplane/kubeadm"),
    "infrastructure": (TEST, "infrastructure/docker"),
}

# What is replaced in which file of which module: addresses, and ports that are the same in every process.
_MUX = "infrastructure/inmemory/pkg/server/mux.go"
_LOOPBACK = (
    (RUNTIME, "pkg/webhook/server.go", "net.JoinHostPort(s.Options.Host,", 'net.JoinHostPort("127.0.0.1",'),
    (TEST, _MUX, '"tcp", fmt.Sprintf(":%d"', '"tcp", fmt.Sprintf("127.0.0.1:%d"'),
    (TEST, _MUX, "DefaultDebugPort = 19000", "DefaultDebugPort = 0"),
    (TEST, _MUX, "DefaultMinPort = 20000", "DefaultMinPort = 12000"),  # our own servers are above that
    (TEST, _MUX, "DefaultMaxPort = 30000", "DefaultMaxPort = 19999"),
)


class Built(Struct, frozen=True):
    """Where the programs and manifests are."""

    folder: Path

    def program(self, provider: str) -> Path:
        return self.folder / provider / "manager"

    def definitions(self, provider: str) -> list[Document]:
        """A provider's CustomResourceDefinitions, without what kustomize adds."""
        return _read(self.folder / provider / "definitions.json")

    def webhooks(self, provider: str) -> list[Document]:
        """A provider's webhook configurations, without what kustomize adds."""
        return _read(self.folder / provider / "webhooks.json")


def _read(file: Path) -> list[Document]:
    return msgspec.json.decode(file.read_bytes(), type=list[Document])


def build() -> Built:
    """The programs; the first time takes minutes, after that nothing is done."""
    if shutil.which("go") is None:
        raise SystemExit("Cluster API's controllers are built with Go, which was not found on PATH.")
    cache = Path(os.environ.get("KAPSTAN_CACHE") or Path.home() / ".cache" / "kapstan") / "benchmarks"
    cache.mkdir(parents=True, exist_ok=True)
    pinned = (HERE / "go.sum").read_bytes() + repr((PROVIDERS, _LOOPBACK)).encode()
    target = cache / f"capi-{hashlib.sha256(pinned).hexdigest()[:12]}"
    if not target.exists():
        mine = target.with_name(f".{target.name}.{os.getpid()}")  # others may build it at the same time
        shutil.rmtree(mine, ignore_errors=True)
        _build(mine)
        try:
            mine.rename(target)
        except OSError:  # they were faster
            shutil.rmtree(mine)
    return Built(target)


def _build(folder: Path) -> None:
    sources = folder / "sources"
    sources.mkdir(parents=True)
    modules = _modules()
    file = _replaced(sources, modules)
    for provider, (module, path) in PROVIDERS.items():
        target = folder / provider
        _keep_manifests(Path(modules[module]) / path / "config", target)
        command = ["go", "build", "-p", "1", f"-modfile={file}", "-trimpath", "-ldflags", "-s -w"]
        subprocess.run([*command, "-o", str(target / "manager"), f"{module}/{path}"], cwd=HERE, check=True)
    shutil.rmtree(sources)


def _keep_manifests(config: Path, target: Path) -> None:
    """As JSON, which is read in no time: these are megabytes."""
    target.mkdir()
    for source, name in (
        (config / "crd" / "bases", "definitions"),
        (config / "webhook" / "manifests.yaml", "webhooks"),
    ):
        documents = [document for document in read_documents(source) if document]
        (target / f"{name}.json").write_bytes(msgspec.json.encode(documents))


def _modules() -> dict[str, str]:
    """Where Go keeps the sources of each module."""
    subprocess.run(["go", "mod", "download", CORE, TEST, RUNTIME], cwd=HERE, check=True)
    listed = subprocess.run(
        ["go", "list", "-m", "-f", "{{.Path}} {{.Dir}}", CORE, TEST, RUNTIME],
        cwd=HERE,
        check=True,
        capture_output=True,
        text=True,
    )
    return dict(line.split(" ", 1) for line in listed.stdout.splitlines())


def _replaced(sources: Path, modules: dict[str, str]) -> Path:
    """A `go.mod` that has the modules replaced by copies which listen on the loopback address."""
    file = sources / "go.mod"
    shutil.copy(HERE / "go.mod", file)
    shutil.copy(HERE / "go.sum", sources / "go.sum")
    for module, path, old, new in _LOOPBACK:
        copy = sources / module.replace("/", "+")
        if not copy.exists():
            _copy(Path(modules[module]), copy)
            subprocess.run(["go", "mod", "edit", f"-replace={module}={copy}", str(file)], cwd=HERE, check=True)
        text = (copy / path).read_text()
        if old not in text:
            raise RuntimeError(f"{path} of {module} listens in another way than before: look again what to replace")
        (copy / path).write_text(text.replace(old, new))
    return file


def _copy(source: Path, target: Path) -> None:
    """A copy that can be changed and removed: Go keeps its modules read-only."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for folder, _, _ in os.walk(target):
        Path(folder).chmod(0o755)
