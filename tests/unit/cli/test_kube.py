"""`kapstan kube` on a machine whose cache a test fills."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kapstan.cli import main
from kapstan.components.releases import DEFAULT_PROGRAMS, DEFAULT_VERSION


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("KAPSTAN_ASSETS", "KUBEBUILDER_ASSETS"):
        monkeypatch.delenv(variable, raising=False)
    for project in ("KUBE", "ETCD", "HELM"):
        monkeypatch.setenv(f"KAPSTAN_{project}_MIRROR", "off")
    monkeypatch.setenv("KAPSTAN_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    return tmp_path


def fill(cache: Path, version: str, *programs: str) -> Path:
    folder = cache / "kube" / version
    folder.mkdir(parents=True)
    for program in programs:
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)
    return folder


def kube(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["kube", *arguments])


def test_fetch_with_everything_cached_is_one_line(cache: Path) -> None:
    folder = fill(cache, DEFAULT_VERSION, *DEFAULT_PROGRAMS)

    result = kube("fetch")

    assert result.exit_code == 0
    assert result.output == f"{folder} (cache): {', '.join(DEFAULT_PROGRAMS)}\n"


def test_which_prints_the_path_alone(cache: Path) -> None:
    folder = fill(cache, "v1.35.4", "kubectl")

    result = kube("which", "kubectl", "--version", "1.35.4")

    assert (result.exit_code, result.output) == (0, f"{folder / 'kubectl'}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("which", "kubelet"), "run `kapstan kube fetch --component kubelet`"),
        (("fetch", "--component", "etcd"), "install Go from https://go.dev/dl"),
        (("build", "--component", "etcd"), "install Go from https://go.dev/dl"),
        (("fetch", "--version", "latest"), "'latest' is not a Kubernetes version; write one like v1."),
    ],
)
def test_a_failure_is_one_sentence_and_exit_code_1(cache: Path, arguments: tuple[str, ...], message: str) -> None:
    result = kube(*arguments)

    assert result.exit_code == 1
    assert message in result.output.splitlines()[-1]


def test_an_unknown_component_is_wrong_usage(cache: Path) -> None:
    result = kube("fetch", "--component", "kube-proxy")

    assert result.exit_code == 2
    assert "'kube-proxy' is not one of 'kube-apiserver'" in result.output


def test_list_shows_versions_and_programs(cache: Path) -> None:
    fill(cache, DEFAULT_VERSION, "etcd", "kubectl")
    old = fill(cache, "v1.35.4")

    lines = kube("list").output.splitlines()

    assert lines[:2] == [f"v1.35.4  0 MB  {old}", "  nothing finished yet"]
    assert lines[3] == "  kubectl, etcd"


def test_list_of_an_empty_cache_says_how_to_fill_it(cache: Path) -> None:
    assert kube("list").output == f"Nothing is cached in {cache} yet: kapstan kube fetch\n"


def test_list_shows_one_version_if_one_is_asked_for(cache: Path) -> None:
    fill(cache, DEFAULT_VERSION, "etcd")
    old = fill(cache, "v1.35.4", "kubectl")

    assert kube("list", "--version", "1.35.4").output == f"v1.35.4  0 MB  {old}\n  kubectl\n"
    said = f"Nothing of v1.34.0 is cached in {cache} yet: kapstan kube fetch --version v1.34.0\n"
    assert kube("list", "--version", "v1.34.0").output == said
    assert kube("list", "--version", "newest").exit_code == 1
