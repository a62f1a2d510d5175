"""Record what Kubernetes' own Go code answers, so that the unit tests compare with it where there is no Go.

    python tools/oracles/record.py [openapi] [protobuf]

Descriptions are dropped: the vectors hold facts, no prose.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ORACLES = Path(__file__).resolve().parent
UNIT = ORACLES.parents[1] / "tests/unit"


def openapi() -> None:
    """The OpenAPI v3 document of a custom resource."""
    folder = UNIT / "apiserver/builtin/vectors"
    definition = (folder / "gadgets.crd.json").read_bytes()
    for version in json.loads(definition)["spec"]["versions"]:
        answer = run("openapi", version["name"], stdin=definition)
        document = without_descriptions(json.loads(answer))
        (folder / f"gadgets.{version['name']}.json").write_text(
            json.dumps(document, separators=(",", ":"), sort_keys=True)
        )


def protobuf() -> None:
    """Bodies of random objects of every built-in kind, and the JSON that Go makes of them."""
    cases = run("protobuf", "make", "36", "2")
    path = UNIT / "apiserver/protobuf/vectors/bodies.ndjson.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(cases, compresslevel=9, mtime=0))


def run(oracle: str, *arguments: str, stdin: bytes = b"") -> bytes:
    command = ["go", "run", ".", *arguments]
    done = subprocess.run(command, cwd=ORACLES / oracle, input=stdin, stdout=subprocess.PIPE, check=True)
    return done.stdout


def without_descriptions(part: Any) -> Any:
    if isinstance(part, dict):
        kept = part.items()
        return {
            key: without_descriptions(value) for key, value in kept if key != "description" or isinstance(value, dict)
        }
    return [without_descriptions(value) for value in part] if isinstance(part, list) else part


RECORDS: dict[str, Callable[[], None]] = {"openapi": openapi, "protobuf": protobuf}

if __name__ == "__main__":
    for name in sys.argv[1:] or RECORDS:
        RECORDS[name]()
