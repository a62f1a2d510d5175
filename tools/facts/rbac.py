"""Write the roles and bindings that a Kubernetes release creates in every new cluster.

    python tools/facts/rbac.py [--into FOLDER]

They are read from the golden files that the release tests its own bootstrap policy with. What all of them share (API
version, the bootstrapping label, the auto-update annotation) is left out and put back when they are loaded.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import source
import yaml
from generate import ROOT, write_json

_FILES = (
    "cluster-roles",
    "controller-roles",
    "cluster-role-bindings",
    "controller-role-bindings",
    "namespace-roles",
    "namespace-role-bindings",
)
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_API_VERSION = "rbac.authorization.k8s.io/v1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ROOT / "src/kapstan", help="the package folder to write into")
    into: Path = parser.parse_args().into
    write_json(into / "apiserver/authz/data/bootstrap.json.gz", {"kubernetes": source.KUBERNETES, "objects": objects()})


def objects() -> list[dict[str, Any]]:
    """All of them, as the golden files order them."""
    folder = source.kubernetes() / "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata"
    documents = (yaml.safe_load((folder / f"{name}.yaml").read_text()) for name in _FILES)
    return [_fact(item) for document in documents for item in _flat(document)]


def _flat(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The namespaced ones come as lists within the list."""
    found: list[dict[str, Any]] = []
    for item in document["items"]:
        found += _flat(item) if "items" in item else [item]
    return found


def _fact(item: dict[str, Any]) -> dict[str, Any]:
    metadata = item.pop("metadata")
    labels, annotations = metadata.pop("labels"), metadata.pop("annotations")
    shared = (labels.items() >= _LABELS.items(), annotations == _ANNOTATIONS, item.pop("apiVersion") == _API_VERSION)
    if not all(shared):
        raise SystemExit(f"{item['kind']} {metadata['name']} lacks what all bootstrap objects shared until now")
    fact = {"kind": item.pop("kind"), "name": metadata.pop("name")}
    if namespace := metadata.pop("namespace", None):
        fact["namespace"] = namespace
    metadata.pop("creationTimestamp", None)
    if metadata:
        raise SystemExit(f"{fact['kind']} {fact['name']} has metadata that the facts do not hold: {sorted(metadata)}")
    if own := {key: value for key, value in labels.items() if key not in _LABELS}:
        fact["labels"] = own
    return fact | item


if __name__ == "__main__":
    main()
