"""The tree of a project: every file that the scaffold has a say in, as a pure function of the PROJECT file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from typing import TypeAlias

from kapstan.generate.manifest import manifest
from kapstan.generate.roles import USER_ROLES, leader_election_role, metrics_auth_role, metrics_reader_role, user_role
from kapstan.machinery.model import ResourceInfo
from kapstan.scaffold.listing import listed_values, packages, role_file
from kapstan.scaffold.project import Project, ProjectResource
from kapstan.scaffold.render import render, render_path
from kapstan.scaffold.values import Values, conversion_values, is_grouped, project_values, resource_values

__all__ = ("initial_files", "project_files")

Files: TypeAlias = dict[str, str]

_SUFFIX = ".tmpl"


def project_files(project: Project) -> Files:
    """Path → text, of everything but the PROJECT file and what generators write."""
    found = _rendered("project", {**project_values(project), **listed_values(project)})
    for resource in project.resources:
        found |= _resource_files(project, resource)
    found |= _roles(project)
    return {**packages(project, found), **found}


def initial_files(project: Project) -> Files:
    """Files that generators write from then on, as they are at the very beginning."""
    return _rendered("initial", project_values(project))


def _resource_files(project: Project, resource: ProjectResource) -> Files:
    values = resource_values(project, resource)
    found: Files = {}
    variant = "deploy_image" if project.deploy_image(resource) is not None else "plain"
    if resource.api is not None:
        found |= _rendered(f"{variant}/api", values)
    if resource.controller:
        found |= _rendered(f"{variant}/controller", values)
    if resource.webhooks is not None and resource.webhooks.admission:
        found |= _rendered("webhook", values)
    if resource.webhooks is not None and resource.webhooks.conversion:
        for spoke in resource.webhooks.spoke:
            found |= _rendered("conversion", {**values, **conversion_values(project, resource, spoke)})
    return found


def _roles(project: Project) -> Files:
    """Roles that follow from the project alone."""
    labels = {"app.kubernetes.io/managed-by": "kustomize", "app.kubernetes.io/name": project.project_name}
    found = {
        "config/rbac/leader_election_role.yaml": manifest(leader_election_role(labels=labels)),
        "config/rbac/metrics_auth_role.yaml": manifest(metrics_auth_role()),
        "config/rbac/metrics_reader_role.yaml": manifest(metrics_reader_role()),
    }
    for resource in project.resources:
        if resource.api is not None:
            for role in USER_ROLES:
                prefix = f"{resource.group}-" if is_grouped(project, resource) else ""
                document = user_role(_info(resource), role, prefix=prefix, labels=labels)
                found[f"config/rbac/{role_file(project, resource, role)}"] = manifest(document)
    return {path: text.removeprefix("---\n") for path, text in found.items()}


def _info(resource: ProjectResource) -> ResourceInfo:
    return ResourceInfo(
        group=resource.qualified_group,
        version=resource.version,
        kind=resource.kind,
        plural=resource.plural_name,
        singular=resource.kind.lower(),
        subresources=("status",),
    )


def _rendered(folder: str, values: Values) -> Files:
    found: Files = {}
    for path, template in _templates(folder).items():
        text = render(template, values)
        if text is not None:
            found[str(PurePosixPath(render_path(path, values)))] = text
    return found


@cache
def _templates(folder: str) -> Files:
    """The templates of a folder by the paths of the files that they become."""
    root = files("kapstan.scaffold").joinpath("templates", *folder.split("/"))
    return {path.removesuffix(_SUFFIX): item.read_text() for path, item in _walk(root, "")}


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        path = f"{prefix}{item.name}"
        if item.is_dir():
            yield from _walk(item, f"{path}/")
        elif path.endswith(_SUFFIX):
            yield path, item
