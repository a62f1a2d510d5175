"""`kapstan init`, `create`, `edit` and `completion` as commands: questions, help, and what is said."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kapstan.cli import main

API = ("create", "api", "--group", "cache", "--version", "v1", "--kind", "Memcached", "--make=false")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = tmp_path / "cache_operator"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def project(folder: Path) -> Path:
    assert run("init", "--domain", "example.com").exit_code == 0
    return folder


def run(*arguments: str, answers: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=answers, prog_name="kapstan")


def test_a_project_is_named_after_its_folder(project: Path) -> None:
    text = (project / "PROJECT").read_text()
    assert "projectName: cache-operator" in text and "repo: cache_operator" in text


def test_what_flags_do_not_say_is_asked(project: Path) -> None:
    result = run(*API, answers="y\nn\n")
    assert result.exit_code == 0, result.output
    assert "Create Resource [y/n] " in result.output and "Create Controller [y/n] " in result.output
    assert (project / "src/cache_operator/api/v1/memcached.py").exists()
    assert not (project / "src/cache_operator/controller").exists()


def test_what_flags_say_is_not_asked(project: Path) -> None:
    result = run(*API, "--resource", "--controller=false")
    assert result.exit_code == 0
    assert "[y/n]" not in result.output
    assert not (project / "src/cache_operator/controller").exists()


def test_without_anybody_to_answer_the_flag_is_named(project: Path) -> None:
    result = run(*API, "--resource", answers="")
    assert result.exit_code == 2
    assert "say --controller or --controller=false" in result.output


def test_manifests_are_generated_at_once(project: Path) -> None:
    assert run(*API[:-1], "--resource", "--controller").exit_code == 0
    assert (project / "config/crd/bases/cache.example.com_memcacheds.yaml").exists()
    assert "memcacheds/status" in (project / "config/rbac/role.yaml").read_text()


def test_deploy_image_implies_a_kind_and_a_controller(project: Path) -> None:
    result = run(*API, "--plugins", "deploy-image/v1-alpha", "--image", "memcached:1.6")
    assert result.exit_code == 0, result.output
    assert "finalize" in (project / "src/cache_operator/controller/memcached.py").read_text()


def test_webhooks_and_edits_are_told(project: Path) -> None:
    run(*API, "--resource", "--controller")
    result = run(
        "create",
        "webhook",
        "--group",
        "cache",
        "--version",
        "v1",
        "--kind",
        "Memcached",
        "--defaulting",
        "--make=false",
    )
    assert "created src/cache_operator/webhook/v1/memcached.py" in result.output
    assert "changed src/cache_operator/main.py" in result.output
    edited = run("edit", "--namespaced")
    assert edited.exit_code == 0
    assert "changed config/manager/manager.yaml" in edited.output


def test_a_change_that_cannot_be_merged_is_shown(project: Path) -> None:
    path = project / "config/default/kustomization.yaml"
    path.write_text(path.read_text().replace("resources:\n- ../rbac", "resources:\n- ../mine"))
    result = run(*API, "--resource", "--controller")
    assert result.exit_code == 0
    assert "please do so yourself" in result.output and "+- ../crd" in result.output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("edit",), 2, "Say what to change"),
        ((*API, "--image", "x"), 2, "need --plugins deploy-image/v1-alpha"),
        ((*API, "--plugins", "deploy-image/v1-alpha"), 2, "deploy-image needs --image"),
        ((*API, "--resource=maybe"), 2, "'maybe' is not a valid boolean"),
        (("create", "api"), 2, "Missing option '--group'"),
        (("init",), 1, "is a project already"),
        (("create", "webhook", *API[2:8], "--defaulting"), 1, "there is no Memcached v1 of group cache"),
    ],
)
def test_what_is_wrong_is_said(project: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == code
    assert message in result.output


@pytest.mark.parametrize(("flag", "value"), [("--group", "Cache"), ("--version", "1"), ("--kind", "memcached")])
def test_a_wrong_name_is_refused_before_any_question(project: Path, flag: str, value: str) -> None:
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    result = run(*API, flag, value, answers="y\ny\n")
    assert result.exit_code == 1
    assert value in result.output and "[y/n]" not in result.output
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_a_folder_that_is_no_project_is_refused_before_any_question(folder: Path) -> None:
    result = run(*API)
    assert result.exit_code == 1
    assert "is not a project" in result.output and "Create Resource" not in result.output


GENERATORS = ("manifests", "crd", "rbac", "webhook", "models", "clientset")
COMMANDS = ("init", "create", "create api", "create webhook", "edit", "completion", "generate")


@pytest.mark.parametrize("command", [*COMMANDS, *(f"generate {name}" for name in GENERATORS)])
def test_help_has_examples(command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert re.search(r"Examples:\n +(source <\()?kapstan", result.output)


def test_files_begin_with_the_license_unless_there_is_none(project: Path) -> None:
    main = (project / "src/cache_operator/main.py").read_text()
    assert main.startswith("# SPDX-License-Identifier: Apache-2.0\n")
    assert run("init", "--license", "none", "--force").exit_code == 0
    assert (project / "src/cache_operator/main.py").read_text().startswith('"""')


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script(shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_KAPSTAN_COMPLETE" in result.output


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("kapstan cre", ["create"]),
        ("kapstan create ", ["api", "webhook"]),
        ("kapstan create api --image-container-", ["--image-container-command", "--image-container-port"]),
        ("kapstan init --license ", ["apache2", "none"]),
    ],
)
def test_a_shell_completes_what_was_typed(tmp_path: Path, typed: str, offered: list[str]) -> None:
    """In a real bash, with the script that `kapstan completion bash` has printed."""
    (tmp_path / "completion").write_text(run("completion", "bash").output)
    words = typed.split(" ")
    complete = (
        f"shopt -s extglob; . {tmp_path}/completion; COMP_WORDS=({' '.join(words[:-1])} '{words[-1]}'); "
        f"COMP_CWORD={len(words) - 1}; _kapstan_completion kapstan; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", complete], env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.stdout.split() == offered, done.stderr
