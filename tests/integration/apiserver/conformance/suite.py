"""Running Kubernetes' end-to-end tests by their names, and what became of each."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.integration.apiserver.conformance.building import e2e_program

from kapstan.components import assets

__all__ = ("JSON", "PROTOBUF", "Result", "conformance_tests", "run")

PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON = "application/json"

# What ginkgo compares names with begins with the suite's own.
_SUITE = "Kubernetes e2e suite"
_SPECIAL = re.compile(r"([\[\]().*+?^${}|\\])")


class Result(NamedTuple):
    """What became of a test: `passed`, or how it did not, and why."""

    state: str
    why: str = ""


async def conformance_tests(folder: Path) -> list[str]:
    """The names of all conformance tests, as the program tells them."""
    report = folder / "names.json"
    await _execute("--ginkgo.dry-run", r"--ginkgo.focus=\[Conformance\]", f"--ginkgo.json-report={report}")
    return [name for name, _ in _specs(report)]


async def run(names: Collection[str], kubeconfig: Path, *, content_type: str, nodes: int) -> Mapping[str, Result]:
    """Run tests against the server that a kubeconfig names; a suite that cannot begin is told under its step's name."""
    report = kubeconfig.with_suffix(".json")
    kubectl = (await assets.find_all(["kubectl"]))["kubectl"]
    said = await _execute(
        "--provider=skeleton",
        f"--kubeconfig={kubeconfig}",
        f"--kubectl-path={kubectl}",
        f"--kube-api-content-type={content_type}",
        f"--num-nodes={nodes}",
        "--allowed-not-ready-nodes=-1",
        "--minStartupPods=-1",
        "--dump-logs-on-failure=false",
        "--ginkgo.timeout=45m",
        "--ginkgo.seed=1",
        f"--ginkgo.json-report={report}",
        *(f"--ginkgo.focus={_exactly(name)}" for name in names),
    )
    assert report.exists(), f"e2e.test did not get as far as a report:\n{said[-4000:]}"
    return {name: _result(spec) for name, spec in _specs(report)}


def _exactly(name: str) -> str:
    """An expression, in Go's dialect, that a name alone matches."""
    escaped = _SPECIAL.sub(r"\\\1", name)
    return f"^{_SUITE} {escaped}$"


async def _execute(*arguments: str) -> str:
    program = await e2e_program()
    process = await asyncio.create_subprocess_exec(
        program, "--ginkgo.no-color", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    return said.decode(errors="replace")


def _specs(report: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What the report says of tests that were wanted, and of steps around them that failed."""
    for suite in json.loads(report.read_text()):
        for spec in suite["SpecReports"]:
            wanted = spec["State"] != "skipped" or spec.get("Failure", {}).get("Message")
            if spec["LeafNodeType"] == "It" and wanted:
                yield " ".join([*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]]), spec
            elif spec["LeafNodeType"] != "It" and spec["State"] != "passed":
                yield spec["LeafNodeType"], spec


def _result(spec: Mapping[str, Any]) -> Result:
    failure = spec.get("Failure", {})
    place = failure.get("Location", {})
    why = f"{failure.get('Message', '')} ({place.get('FileName', '')}:{place.get('LineNumber', '')})"
    return Result(spec["State"], "" if spec["State"] == "passed" else why)
