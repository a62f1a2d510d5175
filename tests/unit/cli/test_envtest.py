"""`kapstan envtest` writes a folder for KUBEBUILDER_ASSETS, and nothing of ours takes it for the real programs."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kapstan.cli import main
from kapstan.components import assets


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Kubernetes programs."""
    for variable in ("KAPSTAN_ASSETS", "KUBEBUILDER_ASSETS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("KAPSTAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    return tmp_path


def envtest(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["envtest", *arguments])


def test_what_to_set_is_printed_and_nothing_else(machine: Path) -> None:
    folder = machine / "with space"
    result = envtest("--dir", str(folder))
    assert (result.exit_code, result.output) == (0, f"export KUBEBUILDER_ASSETS='{folder}'\n")
    assert sorted(path.name for path in folder.iterdir()) == ["etcd", "kube-apiserver", "kubectl"]


def test_the_cache_is_the_default(machine: Path) -> None:
    assert envtest().output == f"export KUBEBUILDER_ASSETS={machine / 'cache' / 'envtest'}\n"
    assert envtest("--no-controllers").output.endswith("/envtest-no-controllers\n")
    assert "--no-controllers" in (machine / "cache" / "envtest-no-controllers" / "kube-apiserver").read_text()


def test_it_can_be_written_again(machine: Path) -> None:
    assert [envtest().exit_code, envtest().exit_code] == [0, 0]


def test_programs_that_are_there_already_are_left_alone(machine: Path) -> None:
    real = machine / "kube-apiserver"
    real.write_bytes(b"\x7fELF\n\xff")
    result = envtest("--dir", str(machine))
    assert result.exit_code == 1
    assert f"{real} is there already" in result.output
    assert real.read_bytes() == b"\x7fELF\n\xff"


def test_a_folder_that_cannot_be_written(machine: Path) -> None:
    (machine / "file").write_text("")
    result = envtest("--dir", str(machine / "file" / "folder"))
    assert result.exit_code == 1
    assert "cannot write" in result.output


def test_a_missing_kubectl_says_how_to_get_it(machine: Path) -> None:
    envtest("--dir", str(machine / "programs"))
    said = subprocess.run([machine / "programs" / "kubectl", "version"], capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "kapstan kube fetch --component kubectl" in said.stderr


def test_the_real_environment_does_not_take_it_for_real(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    envtest("--dir", str(machine / "programs"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(machine / "programs"))
    for program in ("kube-apiserver", "etcd", "kubectl"):
        assert asyncio.run(assets.find(program)) is None
