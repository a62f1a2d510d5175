"""The PROJECT file: what a project consists of. Its keys are kubebuilder's, version 3.

Keys that this version does not know are kept as they are.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import field

from kapstan.generate.manifest import manifest
from kapstan.machinery.base import Model
from kapstan.machinery.codec import convert, load_yaml, to_builtins
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.scheme import pluralize
from kapstan.scaffold.errors import ScaffoldError
from kapstan.scaffold.names import module_name
from kapstan.version import __version__

__all__ = ("API", "DEPLOY_IMAGE", "DeployImage", "Project", "ProjectResource", "Webhooks", "load", "save")

FILE = "PROJECT"
LAYOUT = "python.kapstan.dev/v1"
DEPLOY_IMAGE = "deploy-image.kapstan.dev/v1-alpha"
_HEADER = "# What this project consists of. Commands read and write it; edit it and they may no longer understand it.\n"


class API(Model):
    """A kind that the project defines."""

    crd_version: str = field(default="", name="crdVersion")
    namespaced: bool = False


class Webhooks(Model):
    """The webhooks of a kind."""

    defaulting: bool = False
    validation: bool = False
    conversion: bool = False
    spoke: list[str] = field(default_factory=list)
    webhook_version: str = ""

    @property
    def admission(self) -> bool:
        return self.defaulting or self.validation


class ProjectResource(Model):
    """A kind that the project defines, controls, or has webhooks for."""

    group: str = ""
    version: str = ""
    kind: str = ""
    domain: str = ""
    path: str = ""  # the package of its types
    plural: str = ""
    core: bool = False  # one of Kubernetes' own
    api: API | None = None
    controller: bool = False
    webhooks: Webhooks | None = None

    @property
    def qualified_group(self) -> str:
        """The API group: `cache.example.com`."""
        return ".".join(part for part in (self.group if self.group != "core" else "", self.domain) if part)

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.qualified_group, self.version, self.kind)

    @property
    def plural_name(self) -> str:
        return self.plural or pluralize(self.kind.lower())

    @property
    def module(self) -> str:
        return module_name(self.kind)

    def is_of(self, group: str, kind: str) -> bool:
        return (self.group, self.kind) == (group, kind)


class DeployImage(Model):
    """What `--plugins deploy-image/v1-alpha` was told about a kind."""

    image: str
    container_command: str = ""  # separated by commas
    container_port: str = ""
    run_as_user: str = ""


class Project(Model):
    """A project."""

    domain: str
    project_name: str
    repo: str  # the Python package
    version: str = "3"
    cli_version: str = ""
    layout: list[str] = field(default_factory=list)
    multigroup: bool = False
    namespaced: bool = False
    license: str = ""
    owner: str = ""
    resources: list[ProjectResource] = field(default_factory=list)
    plugins: dict[str, Any] = field(default_factory=dict)

    @property
    def leader_election_id(self) -> str:
        """A name that no other operator's election has."""
        digest = hashlib.sha256(f"{self.repo}/{self.project_name}.{self.domain}".encode()).hexdigest()
        return f"{digest[:8]}.{self.domain}"

    def find(self, group: str, version: str, kind: str) -> ProjectResource | None:
        return next((one for one in self.resources if one.is_of(group, kind) and one.version == version), None)

    def versions(self, group: str, kind: str) -> list[ProjectResource]:
        """Every version that the project defines of a kind, the first one first: that is the one that is stored."""
        return [one for one in self.resources if one.is_of(group, kind) and one.api is not None]

    def deploy_image(self, resource: ProjectResource) -> DeployImage | None:
        """What the deploy-image plugin was told about a kind, if it made it."""
        for entry in self.plugins.get(DEPLOY_IMAGE, {}).get("resources", ()):
            if (entry.get("group"), entry.get("version"), entry.get("kind")) == (
                resource.group,
                resource.version,
                resource.kind,
            ):
                return convert(entry["options"], DeployImage)
        return None


def load(root: Path) -> Project:
    """The project in a folder; ScaffoldError if there is none."""
    path = root / FILE
    try:
        document = next(iter(load_yaml(path.read_text())), {})
        project = convert(document, Project)
    except FileNotFoundError:
        raise ScaffoldError(f"{root} is not a project: it has no {FILE} file. Make one: kapstan init") from None
    except (ValueError, msgspec.ValidationError) as error:
        raise ScaffoldError(f"{path} cannot be understood: {error}") from error
    if project.version != "3" or LAYOUT not in project.layout:
        found = ", ".join(project.layout) or "none"
        raise ScaffoldError(
            f"{path} is of another tool: its layout is {found} (version {project.version}), not {LAYOUT}"
        )
    return project


def save(project: Project, root: Path) -> None:
    """Write the PROJECT file, with whatever else is in it."""
    path = root / FILE
    before = next(iter(load_yaml(path.read_text())), {}) if path.exists() else {}
    known = {info.encode_name for info in msgspec.structs.fields(Project)}
    others = {key: value for key, value in before.items() if key not in known}
    document = {**others, **to_builtins(project), "cliVersion": __version__, "layout": [LAYOUT], "version": "3"}
    path.write_text(_HEADER + manifest(document).removeprefix("---\n"))
