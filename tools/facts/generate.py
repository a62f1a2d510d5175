"""Write everything in the source tree that is derived from the facts of a Kubernetes release.

    python tools/facts/generate.py [--into FOLDER]

Needs the Go command and its module proxy. The result depends on the release alone: running it again changes nothing.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import messages
import schemas
import source

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ROOT / "src/kapstan", help="the package folder to write into")
    into: Path = parser.parse_args().into
    served = source.served()
    write_schemas(into / "apiserver/builtin/data", served)
    write_json(into / "apiserver/protobuf/data/messages.json.gz", messages.messages())


def write_schemas(folder: Path, served: list[source.GroupVersion]) -> None:
    facts = {"kubernetes": source.KUBERNETES, "groupVersions": schemas.group_versions(served)}
    write_json(folder / "resources.json.gz", facts)
    write_json(folder / "definitions.json.gz", schemas.definitions(served))


def write_json(path: Path, content: Any) -> None:
    """Compressed and byte for byte reproducible."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    print(f"{path.name}: {path.stat().st_size / 1024:.1f} KiB, {len(text) / 1024:.0f} unpacked")


if __name__ == "__main__":
    main()
