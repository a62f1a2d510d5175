"""Record the CRDs that controller-gen makes of the Go twins of the test zoo.

    python tools/oracles/controllergen/record.py

Descriptions are dropped: the vectors hold facts, no prose.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import yaml

from kapstan.generate.schema import without_descriptions

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parents[2] / "tests/integration/generate/vectors/zoo.json"
TOOL = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = ["go", "run", TOOL, "crd", "paths=./zoo/...", f"output:crd:dir={folder}"]
        subprocess.run(command, cwd=HERE, check=True)
        found = [yaml.safe_load(path.read_text()) for path in sorted(Path(folder).glob("*.yaml"))]
    for definition in found:
        del definition["metadata"]["annotations"]["controller-gen.kubebuilder.io/version"]
        if not definition["metadata"]["annotations"]:
            del definition["metadata"]["annotations"]
    VECTORS.parent.mkdir(parents=True, exist_ok=True)
    VECTORS.write_text(json.dumps(without_descriptions(found), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
