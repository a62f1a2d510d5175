"""Write everything in the source tree that is derived from the facts of a Kubernetes release.

    python tools/facts/generate.py [--into FOLDER]

Needs the Go command and its module proxy. The result depends on the release alone: running it again changes nothing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import messages
import models
import schemas
import source

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ROOT / "src/kapstan", help="the package folder to write into")
    into: Path = parser.parse_args().into
    served = source.served()
    group_versions, definitions = schemas.group_versions(served), schemas.definitions(served)
    found = messages.messages()
    data = into / "apiserver/builtin/data"
    write_json(data / "resources.json.gz", {"kubernetes": source.KUBERNETES, "groupVersions": group_versions})
    write_json(data / "definitions.json.gz", definitions)
    write_json(into / "apiserver/protobuf/data/messages.json.gz", found)
    write_models(into / "k8s", models.Models(definitions, group_versions, messages.field_order(found)))


def write_models(folder: Path, made: models.Models) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.py" for name, _ in made.modules()]
    for path, (_, text) in zip(paths, made.modules(), strict=True):
        path.write_text(text)
    config = ["--config", str(ROOT / "pyproject.toml")]
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", *config, *map(str, paths)], check=True)
    print(f"{len(paths)} modules of typed kinds, {sum(len(path.read_text().splitlines()) for path in paths)} lines")


def write_json(path: Path, content: Any) -> None:
    """Compressed and byte for byte reproducible."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    print(f"{path.name}: {path.stat().st_size / 1024:.1f} KiB, {len(text) / 1024:.0f} unpacked")


if __name__ == "__main__":
    main()
