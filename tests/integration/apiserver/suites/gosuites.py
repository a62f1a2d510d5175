"""Test suites of Go modules: fetched with `go`, compiled once, kept in the cache folder, run on the embedded server.

A suite is run in a copy of its module, since it reads files beside its sources. One of its files may be replaced by
ours where it starts a server of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kapstan.apiserver.envtest import assets
from kapstan.components.cache import cache_root

__all__ = ("GoSuite", "Results", "expected_skips")

_RESULT = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Results:
    """What a run said, and of each test whether it passed, failed or was skipped."""

    code: int
    output: str

    def tests(self, result: str) -> set[str]:
        return {name for found, name in _RESULT.findall(self.output) if found == result}

    def end(self, lines: int = 80) -> str:
        return "\n".join(self.output.splitlines()[-lines:])


@dataclass(frozen=True)
class GoSuite:
    """The tests of one package. `replace` has files of ours by the path in the module that they stand for."""

    module: str
    version: str
    package: str
    replace: Mapping[str, Path] = field(default_factory=dict)

    def run(self, folder: Path, *arguments: str, timeout: float) -> Results:
        """Run it on embedded servers that it starts itself, by the programs of `kapstan envtest` in a folder."""
        program, source = self._compiled()
        assets.write(folder)
        environment = {**os.environ, "KUBEBUILDER_ASSETS": str(folder)}
        ended = subprocess.run(
            [program, *arguments],
            cwd=source / self.package,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
        return Results(ended.returncode, ended.stdout.decode(errors="replace"))

    def _compiled(self) -> tuple[Path, Path]:
        """The program, and the copy of the module that it was made from."""
        assert shutil.which("go"), "suites in Go are compiled with Go, which is not on PATH: https://go.dev/dl"
        digest = hashlib.sha256("".join(path.read_text() for path in self.replace.values()).encode())
        folder = cache_root() / "tests" / f"{self.module.replace('/', '-')}@{self.version}-{digest.hexdigest()[:8]}"
        source = folder / "source"
        # User agents are named for the program, and tests expect that of `go test`.
        program = folder / self.package.replace("/", "-") / f"{Path(self.package).name}.test"
        if not source.exists():
            self._copy(source)
        if not program.exists():
            self._compile(source, program)
        return program, source

    def _copy(self, source: Path) -> None:
        said = subprocess.run(
            ["go", "mod", "download", "-json", f"{self.module}@{self.version}"],
            capture_output=True,
            check=True,
            cwd="/",
        )
        unfinished = source.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(json.loads(said.stdout)["Dir"], unfinished)
        for path in (unfinished, *unfinished.rglob("*")):  # the cache of modules is read-only
            path.chmod(path.stat().st_mode | 0o200)
        for theirs, ours in self.replace.items():
            shutil.copy(ours, unfinished / theirs)
        unfinished.rename(source)

    def _compile(self, source: Path, program: Path) -> None:
        program.parent.mkdir(parents=True, exist_ok=True)
        command = ["go", "test", "-c", "-vet=off", "-mod=mod", "-o", str(program), f"./{self.package}"]
        subprocess.run(command, cwd=source, check=True)


def expected_skips(path: Path) -> dict[str, str]:
    """Tests that cannot pass and why, from a file with `name: reason` in each line."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name: reason.strip() for name, _, reason in (line.partition(": ") for line in lines)}
