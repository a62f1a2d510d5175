"""What is built is what is pinned; Go itself is stood in for, since a real build takes minutes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kapstan.components.build import BuildFailed, build, kubernetes_go_mod, stamp
from kapstan.components.releases import DEFAULT_VERSION, ETCD, HELM, KUBERNETES, Project
from kapstan.components.versions import version_of

from .conftest import Machine, Recorder

MODULES = Path(__file__).parents[3] / "tools" / "kube"

# Answers what our build asks; `go build` writes a program that says which linker flags it was given.
GO = """
case "$1 $2" in
"list -m") echo '{"GoMod": "%(go_mod)s", "GoVersion": "1.25.0", "Time": "2026-01-02T03:04:05Z"}' ;;
list*) echo a; echo b ;;
build*)
  echo k8s.io/some/package >&2
  while [ $# -gt 1 ]; do [ "$1" = -o ] && target=$2; [ "$1" = -ldflags ] && flags=$2; shift; done
  %(cp)s go.mod "%(root)s/go.mod.built"
  printf '#!/bin/sh\\necho "Kubernetes v1.35.4 %%s"\\n' "$flags" > "$target"
  ;;
esac
"""
UPSTREAM = """module k8s.io/kubernetes
go 1.25.0
require k8s.io/api v0.0.0
replace (
	k8s.io/client-go => ./staging/src/k8s.io/client-go
	k8s.io/api => ./staging/src/k8s.io/api
)
"""


def install_go(machine: Machine, root: Path) -> None:
    (root / "upstream.mod").write_text(UPSTREAM)
    cp = shutil.which("cp", path="/bin:/usr/bin")
    machine.script(machine.path, "go", GO % {"go_mod": root / "upstream.mod", "root": root, "cp": cp})


def test_the_checked_in_module_is_of_the_default_version() -> None:
    go_mod = (MODULES / "kubernetes" / "go.mod").read_text()
    published = "v0." + DEFAULT_VERSION.removeprefix("v1.")

    assert f"\tk8s.io/kubernetes {DEFAULT_VERSION}\n" in go_mod
    replacements = re.findall(r"(\S+) => (\S+) (\S+)", go_mod)
    assert len(replacements) > 25
    assert {(old == new, version) for old, new, version in replacements} == {(True, published)}


@pytest.mark.parametrize("project", [ETCD, HELM], ids=lambda project: str(project.name))
def test_the_other_modules_are_of_the_pinned_versions(project: Project) -> None:
    words = [line.split() for line in (MODULES / project.name / "go.mod").read_text().splitlines()]
    for package in project.packages.values():
        module = re.match(r"[\w./]+/v\d+", package)
        assert module is not None
        assert [package] in words or ["tool", package] in words
        assert any([module[0], project.pinned] == line[:2] for line in words)


@pytest.mark.parametrize("file", sorted(MODULES.rglob("go.*")), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_modules_name_no_registry(file: Path) -> None:
    assert "://" not in file.read_text()


def test_a_module_for_another_version_replaces_every_staging_module() -> None:
    assert kubernetes_go_mod("v1.35.4", "1.25.0", UPSTREAM) == (
        "module kapstan.dev/tools/kube/kubernetes\n\ngo 1.25.0\n\nrequire k8s.io/kubernetes v1.35.4\n\n"
        "replace (\n\tk8s.io/api => k8s.io/api v0.35.4\n\tk8s.io/client-go => k8s.io/client-go v0.35.4\n)\n"
    )


def test_both_version_packages_are_stamped() -> None:
    flags = stamp("v1.35.4", "2026-01-02T03:04:05Z", "abc")

    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        for value in ("gitVersion=v1.35.4", "gitMajor=1", "gitMinor=35", "gitCommit=abc", "gitTreeState=clean"):
            assert f"-X {package}.{value}" in flags
        assert f"-X {package}.buildDate=2026-01-02T03:04:05Z" in flags


async def test_one_binary_gets_the_names_of_all_components(
    machine: Machine, recorder: Recorder, tmp_path: Path
) -> None:
    install_go(machine, tmp_path)
    folder = machine.cached("v1.35.4")

    await build(KUBERNETES, ["kubectl"], "v1.35.4", folder, recorder)

    for program in KUBERNETES.programs:
        assert (folder / program).readlink() == Path("kubernetes")
    assert await version_of(folder / "kubectl", "kubectl") == "v1.35.4"
    assert "k8s.io/api => k8s.io/api v0.35.4" in (tmp_path / "go.mod.built").read_text()
    assert recorder.steps == ["Building Kubernetes v1.35.4 from source"]
    assert recorder.updates == [(1, 2)]


async def test_the_default_version_is_built_from_the_checked_in_module(
    machine: Machine, recorder: Recorder, tmp_path: Path
) -> None:
    install_go(machine, tmp_path)

    await build(KUBERNETES, ["kubectl"], DEFAULT_VERSION, machine.cached(DEFAULT_VERSION), recorder)

    assert (tmp_path / "go.mod.built").read_text() == (MODULES / "kubernetes" / "go.mod").read_text()


async def test_a_failed_build_ends_with_what_go_said_and_leaves_nothing(machine: Machine, recorder: Recorder) -> None:
    machine.script(machine.path, "go", 'case "$1" in build) echo "main.go:1: nonsense" >&2; exit 1;; *) echo a;; esac')

    with pytest.raises(BuildFailed, match=r"go build go.etcd.io/etcd/server/v3 failed:\nmain.go:1: nonsense"):
        await build(ETCD, ["etcd"], "v3.6.16", machine.cached(DEFAULT_VERSION), recorder)

    assert list(machine.cached(DEFAULT_VERSION).iterdir()) == []


async def test_what_go_refuses_before_it_builds_is_told(machine: Machine, recorder: Recorder) -> None:
    machine.script(machine.path, "go", 'echo "go: go.mod requires go >= 1.26.0" >&2; exit 1')

    with pytest.raises(BuildFailed, match=r"requires go >= 1.26.0"):
        await build(ETCD, ["etcd"], "v3.6.16", machine.cached(DEFAULT_VERSION), recorder)
