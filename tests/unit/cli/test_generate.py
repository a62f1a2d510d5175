"""`kapstan generate` on a small operator that a test writes."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from click.testing import CliRunner, Result

from kapstan.cli import main

OPERATOR = {
    "api.py": """
        from msgspec import field
        from kapstan.machinery.model import Model, Resource
        from kapstan.machinery.scheme import resource

        class GadgetSpec(Model):
            size: int | None = None

        @resource(group="test.kapstan.dev", version="v1")
        class Gadget(Resource):
            '''A gadget.'''
            spec: GadgetSpec = field(default_factory=GadgetSpec)
    """,
    "controller.py": """
        from kapstan.runtime.declaration import controller, rbac
        from kapstan.runtime.reconcile import Reconciler
        from .api import Gadget

        @controller(Gadget)
        @rbac("", "pods", verbs="get")
        class GadgetReconciler(Reconciler[Gadget]): ...
    """,
    "webhook.py": """
        from kapstan.runtime.webhook.declaration import convert, validator
        from .api import Gadget

        @validator(Gadget)
        def validate(new, old): ...

        @convert(Gadget, Gadget)
        def up(old): ...
    """,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.split(".")[0] == "gadgets"]:
        monkeypatch.delitem(sys.modules, name)
    package = tmp_path / "src/gadgets"
    package.mkdir(parents=True)
    for name, source in {"__init__.py": "", **OPERATOR}.items():
        (package / name).write_text(dedent(source))
    return tmp_path


def generate(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["generate", *arguments])


def test_crds_are_written_once_and_then_up_to_date(project: Path) -> None:
    first = generate("crd", "gadgets", "-o", "config/crd/bases")
    path = project / "config/crd/bases/test.kapstan.dev_gadgets.yaml"
    assert first.output == "wrote config/crd/bases/test.kapstan.dev_gadgets.yaml\n"
    assert yaml.safe_load(path.read_text())["spec"]["names"]["kind"] == "Gadget"
    assert generate("crd", "gadgets", "-o", "config/crd/bases").output == ""
    assert generate("crd", "gadgets", "-o", "config/crd/bases", "--check").exit_code == 0


def test_check_shows_what_is_stale_and_writes_nothing(project: Path) -> None:
    generate("crd", "gadgets", "-o", ".")
    path = project / "test.kapstan.dev_gadgets.yaml"
    path.write_text(path.read_text().replace("A gadget.", "A widget."))
    checked = generate("crd", "gadgets", "-o", ".", "--check")
    assert checked.exit_code == 1
    assert "-        description: A widget." in checked.output
    assert "not up to date" in checked.output
    assert "A widget." in path.read_text()


def test_without_output_manifests_are_printed(project: Path) -> None:
    printed = yaml.safe_load(generate("crd", "gadgets", "--no-descriptions").output)
    assert "description" not in str(printed)
    (role,) = yaml.safe_load_all(generate("rbac", "gadgets", "--role-name", "gadget-role").output)
    assert role["metadata"]["name"] == "gadget-role"
    assert {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]} in role["rules"]


def test_a_namespaced_manager_gets_a_role(project: Path) -> None:
    (role,) = yaml.safe_load_all(generate("rbac", "gadgets", "--namespace", "system").output)
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", "system")
    roles = yaml.safe_load_all(generate("rbac", "gadgets", "--namespace", "blue", "--namespace", "green").output)
    assert [role["metadata"]["namespace"] for role in roles] == ["blue", "green"]


def test_webhooks_and_the_patch_of_a_conversion_are_written(project: Path) -> None:
    result = generate("webhook", "gadgets", "-o", "config/webhook/manifests.yaml", "--patches", "config/crd/patches")
    assert result.exit_code == 0, result.output
    configuration = yaml.safe_load((project / "config/webhook/manifests.yaml").read_text())
    assert configuration["kind"] == "ValidatingWebhookConfiguration"
    patch = yaml.safe_load((project / "config/crd/patches/webhook_in_gadgets.yaml").read_text())
    assert patch["spec"]["conversion"]["strategy"] == "Webhook"


def test_all_manifests_go_where_kustomize_expects_them(project: Path) -> None:
    result = generate("manifests", "gadgets")
    assert result.output.split() == [
        word
        for path in (
            "config/crd/bases/test.kapstan.dev_gadgets.yaml",
            "config/rbac/role.yaml",
            "config/crd/patches/webhook_in_gadgets.yaml",
            "config/webhook/manifests.yaml",
        )
        for word in ("wrote", path)
    ]
    assert generate("manifests", "gadgets", "--check").exit_code == 0


def test_a_project_without_anything_yet_is_not_an_error(project: Path) -> None:
    (project / "src/bare").mkdir()
    (project / "src/bare/__init__.py").touch()
    for arguments in (("crd", "bare"), ("webhook", "bare"), ("rbac", "bare", "-o", "role.yaml")):
        assert generate(*arguments).exit_code == 0
    assert yaml.safe_load((project / "role.yaml").read_text())["rules"] == []


def test_models_are_written_as_a_package_and_generate_the_crd_again(project: Path) -> None:
    generate("crd", "gadgets", "-o", "crds")
    result = generate("models", "crds", "-o", "src/external")
    assert result.output == "wrote src/external/__init__.py\nwrote src/external/test_kapstan_dev_v1.py\n"
    again = generate("crd", "external")
    assert again.output == (project / "crds/test.kapstan.dev_gadgets.yaml").read_text()


def test_a_clientset_is_written_for_the_kinds(project: Path) -> None:
    assert generate("clientset", "gadgets.api", "-o", "src/gadgets/clients").exit_code == 0
    assert "def gadgets(self" in (project / "src/gadgets/clients/clientset.py").read_text()
    assert generate("clientset", "gadgets.api", "-o", "src/gadgets/clients", "--check").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("crd", "nowhere"), 1, "there is no package 'nowhere'"),
        (("models", "missing.yaml", "-o", "x"), 1, "missing.yaml: there is no such file or folder"),
        (("models", "src/gadgets/api.py", "-o", "x"), 1, "api.py: not valid YAML"),
        (("models", "-o", "x"), 2, "Give files or folders, or --cluster."),
        (("crd",), 2, "Missing argument 'PACKAGE...'"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    project: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = generate(*arguments)
    assert result.exit_code == code
    assert message in result.output


def test_a_group_that_is_not_there_is_named_with_those_that_are(project: Path) -> None:
    generate("crd", "gadgets", "-o", "crds")
    result = generate("models", "crds", "-o", "x", "--group", "other.dev")
    assert result.exit_code == 1
    assert "no kinds of group other.dev; groups that there are: test.kapstan.dev" in result.output
