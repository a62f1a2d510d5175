"""The facts and the documents built from them, against the release they were taken from. Needs the Go command."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kapstan.apiserver import builtin

ROOT = Path(__file__).resolve().parents[3]
STREAMS = ("/attach", "/exec", "/log", "/portforward", "/proxy")
# Published by the release with every alpha feature on, or for answers that the embedded server does not give.
OTHER_TYPES = (
    "application/cbor",
    "application/cbor-seq",
    "application/apply-patch+cbor",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
)

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("go") is None, reason="Kubernetes' libraries are asked with the go command"),
]


@pytest.fixture(scope="module")
def release() -> Path:
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{builtin.kubernetes_version()}"]
    done = subprocess.run(command, capture_output=True, check=True)
    return Path(json.loads(done.stdout)["Dir"])


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("facts")
    subprocess.run([sys.executable, ROOT / "tools/facts/generate.py", "--into", into], check=True)
    return into


def test_what_is_committed_is_what_the_generator_writes(generated: Path) -> None:
    written = [path for path in generated.rglob("*") if path.is_file()]
    assert written
    for path in written:
        committed = ROOT / "src/kapstan" / path.relative_to(generated)
        assert content(committed) == content(path), f"{committed} is stale: run tools/facts/generate.py"


@pytest.mark.parametrize("gv", builtin.group_versions(), ids=lambda gv: gv.api_version)
def test_documents_equal_the_release_s_own(gv: builtin.GroupVersion, release: Path) -> None:
    """Paths with all operations, and the components, but for prose, streams and the deprecated watch paths."""
    stem = gv.path.strip("/").replace("/", "__")
    published = comparable(json.loads((release / f"api/openapi-spec/v3/{stem}_openapi.json").read_bytes()))
    ours = comparable(json.loads(json.dumps(builtin.openapi(gv.group, gv.version))))
    streams = [path for path in published["paths"] if "/watch/" in path or any(name in path for name in STREAMS)]
    for path in streams:
        del published["paths"][path]
    assert ours["paths"] == published["paths"]
    assert ours["components"]["schemas"] == published["components"]["schemas"]


def comparable(part: Any) -> Any:
    """Without prose, and without enums: a running server publishes them, the release's files do not."""
    if isinstance(part, dict):
        kept = {key: value for key, value in part.items() if key not in OTHER_TYPES}
        return {
            key: comparable(value)
            for key, value in kept.items()
            if not (key == "description" and isinstance(value, str)) and not (key == "enum" and isinstance(value, list))
        }
    return [comparable(value) for value in part] if isinstance(part, list) else part


def content(path: Path) -> bytes:
    """Compressed bytes depend on the library's version; what they hold does not."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
