"""Suites of the Go projects that operators are built with pass on the embedded server, but for what is listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.integration.apiserver.suites.gosuites import GoSuite, expected_skips

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
MINUTE = 60.0

CONTROLLER_RUNTIME = ("sigs.k8s.io/controller-runtime", "v0.25.2")
APIEXTENSIONS = ("k8s.io/apiextensions-apiserver", "v0.36.3")


@pytest.mark.parametrize(
    "package", ["client", "cache", "envtest", "webhook", "builder", "controller", "cluster", "manager"]
)
def test_controller_runtime(package: str, tmp_path: Path) -> None:
    """Its specs give many things one second, which is little on a busy machine: they may be tried again."""
    skips = expected_skips(HERE / "controller_runtime.txt")
    suite = GoSuite(*CONTROLLER_RUNTIME, f"pkg/{package}")
    skipped = [f"--ginkgo.skip={re.escape(name)}" for name in skips]
    ran = suite.run(tmp_path, "--ginkgo.no-color", "--ginkgo.flake-attempts=3", *skipped, timeout=30 * MINUTE)
    assert ran.code == 0, ran.end()
    assert re.search(r"Ran [1-9]\d* of \d+ Specs", ran.output)


def test_apiextensions_apiserver(tmp_path: Path) -> None:
    """Its servers are started by our fixture instead of its own. What it tests of conversion looks into etcd."""
    skips = expected_skips(HERE / "apiextensions.txt")
    fixture = {"test/integration/fixtures/server.go": HERE / "apiextensions" / "server.go"}
    suite = GoSuite(*APIEXTENSIONS, "test/integration", fixture)
    pattern = "|".join("/".join(f"^{part}$" for part in name.split("/")) for name in skips)
    ran = suite.run(tmp_path, "-test.v", "-test.timeout=60m", f"-test.skip={pattern}", timeout=60 * MINUTE)
    assert ran.code == 0, ran.end()
    assert ran.tests("PASS")
    assert ran.tests("SKIP") <= skips.keys(), "skipped without a reason in the list"
