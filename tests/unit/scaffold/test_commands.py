"""Commands: projects grow by them, nobody's work is lost, and what is wrong is said before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kapstan.scaffold import commands
from kapstan.scaffold.errors import ScaffoldError
from kapstan.scaffold.names import module_name, package_of
from kapstan.scaffold.project import DEPLOY_IMAGE, DeployImage, Project, load, save


def new(root: Path, **options: Any) -> Path:
    project = Project(domain="example.com", project_name="cache-operator", repo="cache_operator", **options)
    commands.init(root, project)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new(tmp_path)


def api(root: Path, group: str = "cache", version: str = "v1", kind: str = "Memcached", **options: Any) -> Any:
    return commands.create_api(root, group, version, kind, **{"resource": True, "controller": True, **options})


def tree(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_new_project_has_what_kubebuilder_users_look_for(root: Path) -> None:
    files = tree(root)
    for path in ("PROJECT", "Makefile", "Dockerfile", "README.md", "pyproject.toml", ".github/workflows/test.yml"):
        assert path in files
    for folder in ("default", "manager", "rbac", "prometheus", "network-policy"):
        assert f"config/{folder}/kustomization.yaml" in files
    targets = ("manifests", "generate", "fmt", "lint", "test", "run", "install", "uninstall", "deploy", "undeploy",
               "build", "docker-build", "docker-push", "build-installer", "help")  # fmt: skip
    assert all(f"\n{target}:" in files["Makefile"] for target in targets)
    assert "USER 65532:65532" in files["Dockerfile"]


def test_the_project_file_has_kubebuilders_keys(root: Path) -> None:
    api(root, plural="memcachedes")
    commands.create_webhook(root, "cache", "v1", "Memcached", defaulting=True)
    document = yaml.safe_load((root / "PROJECT").read_text())
    assert {key: document[key] for key in ("domain", "projectName", "repo", "version")} == {
        "domain": "example.com", "projectName": "cache-operator", "repo": "cache_operator", "version": "3",
    }  # fmt: skip
    assert document["resources"] == [
        {
            "api": {"crdVersion": "v1", "namespaced": True},
            "controller": True,
            "domain": "example.com",
            "group": "cache",
            "kind": "Memcached",
            "path": "cache_operator.api.v1",
            "plural": "memcachedes",
            "version": "v1",
            "webhooks": {"defaulting": True, "webhookVersion": "v1"},
        }
    ]


def test_what_others_wrote_into_the_project_file_stays(root: Path) -> None:
    path = root / "PROJECT"
    path.write_text(path.read_text() + "cared: for\nplugins:\n  helm.example.com/v2: {output: dist}\n")
    api(root)
    document = yaml.safe_load(path.read_text())
    assert document["cared"] == "for"
    assert document["plugins"] == {"helm.example.com/v2": {"output": "dist"}}


def test_a_second_kind_extends_the_project_and_keeps_what_was_edited(root: Path) -> None:
    api(root)
    main = root / "src/cache_operator/main.py"
    main.write_text(main.read_text().replace("    manager.run()", "    manager.add(mine)\n    manager.run()"))
    types = root / "src/cache_operator/api/v1/memcached.py"
    types.write_text("edited")
    outcome = api(root, kind="Redis")
    text = main.read_text()
    assert "manager.add(mine)" in text
    assert "manager.add(MemcachedReconciler())\n    manager.add(RedisReconciler())" in text
    assert types.read_text() == "edited"
    assert outcome.unmerged == {}
    assert "src/cache_operator/main.py" in outcome.changed
    assert "cache.example.com_redises.yaml" in (root / "config/crd/kustomization.yaml").read_text()


def test_where_a_change_cannot_be_merged_it_is_told_and_the_file_stays(root: Path) -> None:
    path = root / "config/default/kustomization.yaml"
    mine = path.read_text().replace("resources:\n- ../rbac", "resources:\n- ../my-rbac")
    path.write_text(mine)
    outcome = api(root)
    assert path.read_text() == mine
    assert "+- ../crd" in outcome.unmerged["config/default/kustomization.yaml"]


def test_files_that_are_there_are_never_overwritten_without_force(root: Path) -> None:
    path = root / "src/cache_operator/controller/memcached.py"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    before = tree(root)
    with pytest.raises(ScaffoldError, match=r"nothing was written(.|\n)*controller/memcached\.py"):
        api(root)
    assert tree(root) == before
    api(root, force=True)
    assert "class MemcachedReconciler" in path.read_text()


def test_force_is_about_the_files_of_the_kind_only(root: Path) -> None:
    api(root)
    for path in ("Makefile", "src/cache_operator/main.py", "src/cache_operator/api/v1/memcached.py"):
        file = root / path
        file.write_text(file.read_text() + "# mine\n")
    api(root, force=True)
    assert "# mine" in (root / "Makefile").read_text()
    assert "# mine" in (root / "src/cache_operator/main.py").read_text()
    assert "# mine" not in (root / "src/cache_operator/api/v1/memcached.py").read_text()


def test_a_second_version_is_not_the_one_that_is_stored(root: Path) -> None:
    api(root, version="v1alpha1")
    api(root, version="v1", controller=False)
    assert "storage=False" not in (root / "src/cache_operator/api/v1alpha1/memcached.py").read_text()
    assert "storage=False" in (root / "src/cache_operator/api/v1/memcached.py").read_text()


def test_conversion_leads_to_and_from_every_spoke(root: Path) -> None:
    for version in ("v1", "v1beta1", "v2"):
        api(root, version=version, controller=version == "v1")
    commands.create_webhook(root, "cache", "v1", "Memcached", conversion=True, spoke=["v1beta1", "v2"])
    text = (root / "src/cache_operator/main.py").read_text()
    for function in ("from_v1beta1", "to_v1beta1", "from_v2", "to_v2"):
        assert function in text
    assert "patches/webhook_in_memcacheds.yaml" in (root / "config/crd/kustomization.yaml").read_text()


def test_webhooks_can_be_added_one_after_the_other(root: Path) -> None:
    api(root)
    commands.create_webhook(root, "cache", "v1", "Memcached", defaulting=True)
    module = root / "src/cache_operator/webhook/v1/memcached.py"
    module.write_text(module.read_text().rstrip() + "\n    memcached.spec.foo = 'mine'\n")
    commands.create_webhook(root, "cache", "v1", "Memcached", validation=True)
    text = module.read_text()
    assert "from kapstan import defaulter, validator" in text
    assert "memcached.spec.foo = 'mine'" in text and "def validate(" in text
    assert "memcached_v1.validate" in (root / "src/cache_operator/main.py").read_text()


def test_kinds_of_several_groups_are_in_folders_of_their_own(tmp_path: Path) -> None:
    root = new(tmp_path, multigroup=True)
    api(root, group="cache")
    api(root, group="web", kind="Site")
    files = tree(root)
    assert "src/cache_operator/api/cache/v1/memcached.py" in files
    assert "src/cache_operator/controller/web/site.py" in files
    assert 'name="web-site"' in files["src/cache_operator/controller/web/site.py"]
    assert "config/rbac/web_site_admin_role.yaml" in files


def test_edit_multigroup_leaves_what_is_there_where_it_is(root: Path) -> None:
    api(root)
    before = tree(root)
    commands.edit(root, multigroup=True)
    assert {path for path, text in tree(root).items() if before.get(path) != text} == {"PROJECT"}
    api(root, group="web", kind="Site")
    files = tree(root)
    assert "src/cache_operator/api/v1/memcached.py" in files
    assert "src/cache_operator/api/web/v1/site.py" in files
    with pytest.raises(ScaffoldError, match="several groups"):
        commands.edit(root, multigroup=False)


def test_edit_namespaced_has_the_manifests_follow_and_keeps_edits(root: Path) -> None:
    manager = root / "config/manager/manager.yaml"
    manager.write_text(manager.read_text().replace("replicas: 1", "replicas: 2"))
    outcome = commands.edit(root, namespaced=True)
    assert outcome.unmerged == {}
    assert "WATCH_NAMESPACE" in manager.read_text() and "replicas: 2" in manager.read_text()
    assert "kind: RoleBinding" in (root / "config/rbac/role_binding.yaml").read_text()
    assert "--namespace system" in (root / "Makefile").read_text()
    commands.edit(root, namespaced=False)
    assert "WATCH_NAMESPACE" not in manager.read_text()


def test_deploy_image_makes_the_whole_operator(root: Path) -> None:
    image = DeployImage(
        image="memcached:1.6", container_command="memcached,-v", container_port="11211", run_as_user="1001"
    )
    api(root, image=image)
    files = tree(root)
    controller = files["src/cache_operator/controller/memcached.py"]
    for part in ("async def finalize", 'command=["memcached", "-v"]', "run_as_user=1001", "container_port or 11211"):
        assert part in controller
    assert "name: MEMCACHED_IMAGE\n          value: memcached:1.6" in files["config/manager/manager.yaml"]
    assert load(root).plugins[DEPLOY_IMAGE]["resources"][0]["options"]["containerPort"] == "11211"


def test_a_controller_of_a_built_in_kind_uses_its_class(root: Path) -> None:
    api(root, group="apps", kind="Deployment", resource=False)
    text = (root / "src/cache_operator/controller/deployment.py").read_text()
    assert "from kapstan.k8s.apps_v1 import Deployment" in text
    assert not (root / "config/crd").exists()
    entry = load(root).resources[0]
    assert (entry.core, entry.api, entry.controller) == (True, None, True)


def test_a_header_stands_above_every_python_file(tmp_path: Path) -> None:
    root = new(tmp_path, license="apache2", owner="The Authors")
    api(root)
    for path, text in tree(root).items():
        if path.endswith(".py"):
            assert text.startswith("# Copyright The Authors\n# SPDX-License-Identifier: Apache-2.0\n\n"), path


WRONG: list[tuple[Callable[[Path], Any], str]] = [
    (lambda root: api(root, group="Cache"), "group 'Cache' is not valid"),
    (lambda root: api(root, group="-x"), "group '-x' is not valid"),
    (lambda root: api(root, version="1"), "version '1' is not valid: it must be like v1, v1beta1"),
    (lambda root: api(root, version="v1gamma1"), "version 'v1gamma1' is not valid"),
    (lambda root: api(root, kind="memcached"), "kind 'memcached' is not valid: it must be in CamelCase"),
    (lambda root: api(root, kind="Model"), "kind 'Model' is a name that the generated code needs"),
    (lambda root: api(root, kind="K" * 64), "is too long"),
    (lambda root: api(root, plural="Many"), "plural 'Many' is not valid"),
    (lambda root: api(root, resource=False, controller=False), "nothing to do"),
    (lambda root: api(root, resource=False), "there is no Memcached v1 of group cache in this project"),
    (lambda root: api(root, kind="There"), "There v1 is there already; --force"),
    (lambda root: api(root, group="other"), "for a second one run first: kapstan edit --multigroup"),
    (lambda root: api(root, kind="There", version="v2", namespaced=False), "There v1 is namespaced, so v2 must be"),
    (lambda root: api(root, kind="There", version="v2", plural="thereses"), "the plural of There is theres in v1"),
    (lambda root: api(root, image=DeployImage(image="")), "image '' is not valid"),
    (lambda root: api(root, image=DeployImage(image="x", container_port="http")), "'http' is not a number"),
    (lambda root: api(root, image=DeployImage(image="x", container_port="70000")), "is not between 1 and 65535"),
    (lambda root: api(root, image=DeployImage(image="x"), controller=False), "needs --resource and --controller"),
    (lambda root: api(root, image=DeployImage(image="x"), namespaced=False), "needs --namespaced"),
    (lambda root: commands.create_webhook(root, "cache", "v1", "There"), "say which webhook"),
    (lambda root: commands.create_webhook(root, "cache", "v1", "Gone", defaulting=True), "there is no Gone v1"),
    (lambda root: commands.create_webhook(root, "cache", "v1", "There", conversion=True), "--spoke v1alpha1,v1beta1"),
    (
        lambda root: commands.create_webhook(root, "cache", "v1", "There", conversion=True, spoke=["v9"]),
        "--spoke v9 is not another version of There; those that there are: v1beta1",
    ),
    (
        lambda root: commands.create_webhook(root, "cache", "v1beta1", "There", conversion=True, spoke=["v1"]),
        "There is stored as v1, so that is what others are converted to: --version v1 --spoke v1beta1",
    ),
    (
        lambda root: commands.create_webhook(root, "cache", "v1", "There", defaulting=True, spoke=["v1beta1"]),
        "needs --conversion",
    ),
    (lambda root: new(root), "is a project already"),
]


@pytest.mark.parametrize(("command", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_what_is_wrong_is_said_and_nothing_is_written(root: Path, command: Callable[[Path], Any], message: str) -> None:
    api(root, kind="There")
    api(root, kind="There", version="v1beta1", controller=False)
    before = tree(root)
    with pytest.raises(ScaffoldError) as refused:
        command(root)
    assert message in str(refused.value)
    assert tree(root) == before


@pytest.mark.parametrize(
    ("project", "message"),
    [
        ({"domain": "Example"}, "domain 'Example' is not valid"),
        ({"project_name": "My_Operator"}, "project name 'My_Operator' is not valid"),
        ({"repo": "my-operator"}, "is no name for a Python package"),
        ({"repo": "class"}, "is no name for a Python package"),
        ({"repo": "asyncio"}, "would hide another"),
        ({"repo": "kapstan"}, "would hide another"),
    ],
)
def test_a_project_has_names_that_dns_and_python_accept(tmp_path: Path, project: dict[str, str], message: str) -> None:
    names: dict[str, Any] = {"domain": "example.com", "project_name": "x", "repo": "x", **project}
    with pytest.raises(ScaffoldError, match=message):
        commands.init(tmp_path, Project(**names))
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not a project: it has no PROJECT file. Make one: kapstan init"),
        ("{", "PROJECT cannot be understood: not valid YAML"),
        ("domain: 3\n", "PROJECT cannot be understood: Expected `str`"),
        ("domain: x\nprojectName: x\nrepo: x\nlayout: [go.kubebuilder.io/v4]\n", "its layout is go.kubebuilder.io/v4"),
    ],
)
def test_a_folder_that_is_no_project_of_ours_is_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "PROJECT").write_text(content)
    with pytest.raises(ScaffoldError) as refused:
        api(tmp_path)
    assert message in str(refused.value)


def test_a_project_file_is_read_as_it_was_written(root: Path) -> None:
    api(root, namespaced=False)
    project = load(root)
    save(project, root)
    assert load(root) == project


def test_modules_have_names_that_python_accepts() -> None:
    assert module_name("FirstMate") == "firstmate"
    assert module_name("Class") == "class_"
    assert module_name("my-group.sub") == "my_group_sub"
    assert package_of("my-operator") == "my_operator"
