"""Where the facts come from: the published Go modules of one Kubernetes release, found through the Go command."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

KUBERNETES = "v1.36.3"
"""The release that the facts describe. The staging modules carry the same number with a leading 0."""

STAGING = KUBERNETES.replace("v1.", "v0.", 1)


class GroupVersion(NamedTuple):
    group: str
    version: str

    @property
    def stem(self) -> str:
        """The way the release names its files: `api__v1`, `apis__apps__v1`."""
        return f"apis__{self.group}__{self.version}" if self.group else f"api__{self.version}"

    @property
    def stable(self) -> bool:
        """Since Kubernetes 1.24 a server offers only these unless it is told otherwise."""
        return "alpha" not in self.version and "beta" not in self.version


@functools.cache
def module(path: str, version: str) -> Path:
    """The folder of a Go module, downloaded if need be."""
    command = ["go", "mod", "download", "-json", f"{path}@{version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"cannot download {path}@{version}: {done.stdout.strip() or done.stderr.strip()}")
    return Path(json.loads(done.stdout)["Dir"])


def kubernetes() -> Path:
    return module("k8s.io/kubernetes", KUBERNETES)


def openapi(gv: GroupVersion) -> dict[str, Any]:
    """The OpenAPI v3 document of one group-version, as the release publishes it."""
    return _read(kubernetes() / "api/openapi-spec/v3" / f"{gv.stem}_openapi.json")


def discovery(gv: GroupVersion) -> dict[str, Any]:
    """The APIResourceList of one group-version."""
    return _read(kubernetes() / "api/discovery" / f"{gv.stem}.json")


def served() -> list[GroupVersion]:
    """Every group-version that kube-apiserver serves by default, in its order of preference."""
    groups = _read(kubernetes() / "api/discovery/aggregated_v2.json")["items"]
    named = (GroupVersion(group["metadata"]["name"], part["version"]) for group in groups for part in group["versions"])
    return [GroupVersion("", "v1"), *(gv for gv in named if gv.stable)]


def _read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document
