"""Which of Kubernetes' conformance tests pass on the embedded server, with what, and why the others cannot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

__all__ = ("excuses", "with_real_controllers", "with_simulated_nodes", "without_nodes")

_HERE = Path(__file__).parent


def without_nodes() -> list[str]:
    """Those that pass on the server alone."""
    return _names("without-nodes.txt")


def with_simulated_nodes() -> list[str]:
    """Those that pass when pods are said to run, though nothing does."""
    return _names("with-simulated-nodes.txt")


def with_real_controllers() -> list[str]:
    """Those that pass when kube-controller-manager and kube-scheduler run as well."""
    return _names("with-real-controllers.txt")


def excuses() -> Mapping[str, str]:
    """Why tests cannot pass, by the beginning of their names."""
    groups = yaml.safe_load((_HERE / "not-run.yaml").read_text())
    return {beginning: group["why"] for group in groups for beginning in group["tests"]}


def _names(file: str) -> list[str]:
    lines = (_HERE / file).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]
