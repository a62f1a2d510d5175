"""Which controllers run in a server that envtest starts."""

from __future__ import annotations

import pytest

from kapstan.apiserver.controllers.manager import CONTROLLERS
from kapstan.apiserver.envtest.flags import parse
from kapstan.apiserver.envtest.kubeapiserver import controllers_left_out

ENDING = {"garbage-collector-controller", "namespace-controller"}
ACCOUNTS = {"serviceaccount-controller", "root-ca-certificate-publisher-controller"}
OWN = {"event-expiry"}


@pytest.mark.parametrize(
    ("arguments", "wanted", "running"),
    [
        (["--disable-admission-plugins=ServiceAccount"], True, ENDING),
        ([], True, ENDING | ACCOUNTS),
        ([], False, set()),
    ],
)
def test_only_what_a_suite_can_want_runs(arguments: list[str], wanted: bool, running: set[str]) -> None:
    """Nobody approves, signs or counts anything: envtest's suites expect an API server and nothing else."""
    left_out = set(controllers_left_out(parse(arguments), wanted))
    assert {name for name in CONTROLLERS if name.endswith("-controller")} - left_out == running
    assert not left_out & OWN
