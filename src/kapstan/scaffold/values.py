"""Values: what templates are filled with, of a project and of one of its kinds."""

from __future__ import annotations

from typing import TypeAlias

from kapstan.scaffold.names import module_name
from kapstan.scaffold.project import Project, ProjectResource, Webhooks
from kapstan.version import __version__

__all__ = (
    "Values",
    "controller_package",
    "conversion_values",
    "is_grouped",
    "new_api_package",
    "project_values",
    "resource_values",
    "webhook_package",
)

Values: TypeAlias = dict[str, str | bool]


def project_values(project: Project) -> Values:
    """What every file may want to know."""
    webhooks = [one.webhooks for one in project.resources if one.webhooks is not None]
    return {
        "project": project.project_name,
        "package": project.repo,
        "domain": project.domain,
        "license": bool(project.license),
        "header": _header(project),
        "kapstan_version": __version__,
        "leader_election_id": project.leader_election_id,
        "multigroup": project.multigroup,
        "namespaced": project.namespaced,
        "apis": any(one.api is not None for one in project.resources),
        "controllers": any(one.controller for one in project.resources),
        "webhooks": bool(webhooks),
        "defaulting": any(one.defaulting for one in webhooks),
        "validation": any(one.validation for one in webhooks),
        "admission": any(one.admission for one in webhooks),
        "conversion": any(one.conversion for one in webhooks),
    }


def resource_values(project: Project, resource: ProjectResource) -> Values:
    """What the files of a kind want to know, too."""
    webhooks = resource.webhooks or Webhooks()
    first = project.versions(resource.group, resource.kind)[:1]
    image = project.deploy_image(resource)
    command = [part for part in image.container_command.split(",") if part] if image else []
    return {
        **project_values(project),
        "group": resource.group,
        "qualified_group": resource.qualified_group,
        "version": resource.version,
        "api_version": f"{resource.qualified_group}/{resource.version}"
        if resource.qualified_group
        else resource.version,
        "kind": resource.kind,
        "variable": resource.module,
        "variable_name": resource.kind.lower(),
        "module": resource.module,
        "plural": resource.plural_name,
        "irregular": bool(resource.plural),
        "cluster_scoped": resource.api is not None and not resource.api.namespaced,
        "stored": resource in first,
        "foreign": resource.api is None,
        "api_package": resource.path,
        "api_module": f"{resource.path}.{resource.module}" if resource.api is not None else resource.path,
        "api_path": resource.path.replace(".", "/"),
        "grouped": is_grouped(project, resource),
        "controller_path": controller_package(project, resource).replace(".", "/"),
        "controller_import": controller_package(project, resource),
        "controller_name": f"{module_name(resource.group)}-{resource.kind.lower()}",
        "webhook_path": webhook_package(project, resource).replace(".", "/"),
        "webhook_import": webhook_package(project, resource),
        "test_path": "/".join(_groups(project, resource)),
        "defaulting": webhooks.defaulting,
        "validation": webhooks.validation,
        "webhook_functions": ", ".join(
            f"{resource.module}.{name}"
            for name, wanted in (("default", webhooks.defaulting), ("validate", webhooks.validation))
            if wanted
        ),
        "sample": f"{resource.group}_{resource.version}_{resource.kind.lower()}",
        "image": image.image if image else "",
        "image_variable": f"{resource.kind.upper()}_IMAGE",
        "container_port": image.container_port if image else "",
        "command": ", ".join(f'"{part}"' for part in command),
        "run_as_user": image.run_as_user if image else "",
    }


def conversion_values(project: Project, hub: ProjectResource, spoke: str) -> Values:
    """What the conversion between the stored version of a kind and another one wants to know, too."""
    other = project.find(hub.group, spoke, hub.kind)
    packages = {hub.path: hub.version, other.path if other is not None else "": spoke}
    imports = sorted(f"from {package} import {hub.module} as {version}" for package, version in packages.items())
    return {"spoke": spoke, "conversion_imports": "\n".join(imports)}


def new_api_package(project: Project, group: str, version: str) -> str:
    """Where the types of a new kind go: `operator.api.v1`, or `operator.api.cache.v1` in a project of many groups."""
    groups = [module_name(group)] if project.multigroup else []
    return ".".join([project.repo, "api", *groups, version])


def controller_package(project: Project, resource: ProjectResource) -> str:
    return ".".join([project.repo, "controller", *_groups(project, resource)])


def webhook_package(project: Project, resource: ProjectResource) -> str:
    return ".".join([project.repo, "webhook", *_groups(project, resource), resource.version])


def is_grouped(project: Project, resource: ProjectResource) -> bool:
    """Whether a kind is in a folder of its group: it is if it was made when the project had several."""
    return resource.path.startswith(f"{project.repo}.api.{module_name(resource.group)}.")


def _groups(project: Project, resource: ProjectResource) -> list[str]:
    return [module_name(resource.group)] if is_grouped(project, resource) else []


def _header(project: Project) -> str:
    """What stands above every Python file."""
    if not project.license:
        return ""
    owner = f"# Copyright {project.owner}\n" if project.owner else ""
    return f"{owner}# SPDX-License-Identifier: Apache-2.0\n\n"
