"""The commands: each reads the PROJECT file, checks what is asked, changes it, and has the files follow.

Everything is checked before anything is written.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from pathlib import Path

from kapstan.machinery.codec import to_builtins
from kapstan.machinery.scheme import pluralize
from kapstan.scaffold.change import Outcome, apply_change
from kapstan.scaffold.errors import ScaffoldError
from kapstan.scaffold.foreign import foreign_package
from kapstan.scaffold.names import (
    check_domain,
    check_group,
    check_image,
    check_kind,
    check_own_kind,
    check_package,
    check_plural,
    check_project_name,
    check_version,
)
from kapstan.scaffold.project import (
    API,
    DEPLOY_IMAGE,
    FILE,
    LAYOUT,
    DeployImage,
    Project,
    ProjectResource,
    Webhooks,
    load,
    save,
)
from kapstan.scaffold.tree import initial_files, project_files
from kapstan.scaffold.values import new_api_package

__all__ = ("check_place", "create_api", "create_webhook", "edit", "init")


def init(root: Path, project: Project, *, force: bool = False) -> Outcome:
    """Begin a project in a folder."""
    check_domain(project.domain)
    check_project_name(project.project_name)
    check_package(project.repo)
    if (root / FILE).exists() and not force:
        raise ScaffoldError(f"{root} is a project already: extend it with kapstan create api")
    project.layout = [LAYOUT]
    outcome = apply_change(root, {}, {**project_files(project), **initial_files(project)}, force=force)
    save(project, root)
    return outcome


def check_place(root: Path, group: str, version: str, kind: str) -> Project:
    """The project in a folder. ScaffoldError if there is none, or if no kind can be called like that."""
    project = load(root)
    check_group(group)
    check_version(version)
    check_kind(kind)
    return project


def create_api(
    root: Path,
    group: str,
    version: str,
    kind: str,
    *,
    resource: bool,
    controller: bool,
    plural: str = "",
    namespaced: bool = True,
    image: DeployImage | None = None,
    force: bool = False,
) -> Outcome:
    """Add a kind, its controller, or both."""
    project = check_place(root, group, version, kind)
    if plural:
        check_plural(plural)
    if not resource and not controller:
        raise ScaffoldError("there is nothing to do without --resource and without --controller")
    before = copy.deepcopy(project)
    entry = project.find(group, version, kind)
    if resource:
        _check_new_kind(project, group, version, kind, force=force)
        entry = _define(project, entry, group, version, kind, plural=plural, namespaced=namespaced)
    elif entry is None:
        entry = _foreign(project, group, version, kind)
    if controller:
        _check_new_controller(entry, force=force)
        entry.controller = True
    if image is not None:
        _deploy_image(project, entry, image, complete=resource and controller)
    return _change(root, before, project, entry, force=force)


def create_webhook(
    root: Path,
    group: str,
    version: str,
    kind: str,
    *,
    defaulting: bool = False,
    validation: bool = False,
    conversion: bool = False,
    spoke: Iterable[str] = (),
    force: bool = False,
) -> Outcome:
    """Add webhooks to a kind."""
    project = check_place(root, group, version, kind)
    if not (defaulting or validation or conversion):
        raise ScaffoldError("say which webhook: --defaulting, --programmatic-validation, --conversion")
    before = copy.deepcopy(project)
    entry = project.find(group, version, kind) or _foreign(project, group, version, kind)
    webhooks = entry.webhooks = entry.webhooks or Webhooks(webhook_version="v1")
    asked = {"defaulting": defaulting, "validation": validation, "conversion": conversion}
    there = [name for name, wanted in asked.items() if wanted and getattr(webhooks, name)]
    if there and not force:
        raise ScaffoldError(f"{kind} {version} has a {there[0]} webhook already; --force writes it anew")
    webhooks.defaulting |= defaulting
    webhooks.validation |= validation
    if conversion:
        webhooks.conversion, webhooks.spoke = True, _spokes(project, entry, list(spoke))
    elif list(spoke):
        raise ScaffoldError("--spoke says what to convert to and from, which needs --conversion")
    return _change(root, before, project, entry, force=force)


def edit(root: Path, *, multigroup: bool | None = None, namespaced: bool | None = None, force: bool = False) -> Outcome:
    """Change how a project is laid out. Kinds that are there stay where they are."""
    project = load(root)
    before = copy.deepcopy(project)
    if multigroup is False and len({one.group for one in project.resources if one.api is not None}) > 1:
        raise ScaffoldError("the project has kinds of several groups, so it stays one of several groups")
    project.multigroup = project.multigroup if multigroup is None else multigroup
    project.namespaced = project.namespaced if namespaced is None else namespaced
    return _change(root, before, project, None, force=force)


def _change(root: Path, before: Project, after: Project, entry: ProjectResource | None, *, force: bool) -> Outcome:
    """Have the files follow. `force` is about the files of one kind only, never about the rest of the project."""
    old, new = project_files(before), project_files(after)
    if force and entry is not None:
        others = copy.deepcopy(after)
        others.resources.remove(entry)
        own = set(new) - set(project_files(others))
        outcome = apply_change(root, {}, {path: new[path] for path in sorted(own)}, force=True)
        old |= {path: new[path] for path in own}
    else:
        outcome = Outcome()
    rest = apply_change(root, old, new, force=force and entry is None)
    save(after, root)
    return Outcome(outcome.created + rest.created, outcome.changed + rest.changed, rest.unmerged)


def _check_new_kind(project: Project, group: str, version: str, kind: str, *, force: bool) -> None:
    check_own_kind(kind)
    existing = project.find(group, version, kind)
    if existing is not None and existing.api is not None and not force:
        raise ScaffoldError(f"{kind} {version} is there already; --force writes it anew")
    groups = {one.group for one in project.resources if one.api is not None}
    if groups - {group} and not project.multigroup:
        raise ScaffoldError(
            f"the project has group {', '.join(sorted(groups))} already; "
            "for a second one run first: kapstan edit --multigroup"
        )


def _check_new_controller(entry: ProjectResource, *, force: bool) -> None:
    if entry.controller and not force:
        raise ScaffoldError(f"{entry.kind} has a controller already; --force writes it anew")


def _define(
    project: Project,
    entry: ProjectResource | None,
    group: str,
    version: str,
    kind: str,
    *,
    plural: str,
    namespaced: bool,
) -> ProjectResource:
    """The entry of a kind that the project defines. Versions of one kind agree in plural and scope."""
    for sibling in project.versions(group, kind):
        if sibling is entry or sibling.api is None:
            continue
        if sibling.api.namespaced != namespaced:
            scope = "namespaced" if sibling.api.namespaced else "of the whole cluster"
            raise ScaffoldError(f"{kind} {sibling.version} is {scope}, so {version} must be, too")
        if plural and plural != sibling.plural_name:
            raise ScaffoldError(f"the plural of {kind} is {sibling.plural_name} in {sibling.version}, not {plural}")
        plural = sibling.plural
    if entry is None:
        entry = ProjectResource(group=group, version=version, kind=kind, domain=project.domain)
        entry.path = new_api_package(project, group, version)
        project.resources.append(entry)
    entry.plural = "" if plural == pluralize(kind.lower()) else plural
    entry.api = API(crd_version="v1", namespaced=namespaced)
    return entry


def _foreign(project: Project, group: str, version: str, kind: str) -> ProjectResource:
    """The entry of a kind that Kubernetes defines."""
    package = foreign_package(group, version, kind)
    if package is None:
        raise ScaffoldError(
            f"there is no {kind} {version} of group {group} in this project: "
            f"kapstan create api --group {group} --version {version} --kind {kind} --resource"
        )
    entry = ProjectResource(group=group, version=version, kind=kind, path=package, core=True)
    project.resources.append(entry)
    return entry


def _deploy_image(project: Project, entry: ProjectResource, image: DeployImage, *, complete: bool) -> None:
    check_image(image.image)
    if not complete:
        raise ScaffoldError("deploy-image makes a kind and its controller: it needs --resource and --controller")
    if entry.api is None or not entry.api.namespaced:
        raise ScaffoldError("deploy-image makes Deployments, which are in a namespace: it needs --namespaced")
    for value, flag in ((image.container_port, "--image-container-port"), (image.run_as_user, "--run-as-user")):
        if value and not value.isdigit():
            raise ScaffoldError(f"{flag} {value!r} is not a number")
    if image.container_port and not 1 <= int(image.container_port) <= 65535:
        raise ScaffoldError(f"--image-container-port {image.container_port} is not between 1 and 65535")
    plugin = project.plugins.setdefault(DEPLOY_IMAGE, {})
    identity = {"domain": entry.domain, "group": entry.group, "kind": entry.kind, "version": entry.version}
    others = [one for one in plugin.get("resources", ()) if {key: one.get(key) for key in identity} != identity]
    plugin["resources"] = [*others, {**identity, "options": to_builtins(image)}]


def _spokes(project: Project, hub: ProjectResource, spokes: list[str]) -> list[str]:
    """The versions to convert to and from; the hub is the version that is stored."""
    versions = project.versions(hub.group, hub.kind)
    if not spokes:
        raise ScaffoldError("--conversion needs the versions to convert to and from: --spoke v1alpha1,v1beta1")
    if hub is not versions[0]:
        raise ScaffoldError(
            f"{hub.kind} is stored as {versions[0].version}, so that is what others are converted to: "
            f"--version {versions[0].version} --spoke {hub.version}"
        )
    for spoke in spokes:
        if spoke == hub.version or project.find(hub.group, spoke, hub.kind) not in versions:
            others = ", ".join(one.version for one in versions[1:]) or "none"
            raise ScaffoldError(f"--spoke {spoke} is not another version of {hub.kind}; those that there are: {others}")
    known = hub.webhooks.spoke if hub.webhooks is not None else []
    return list(dict.fromkeys([*known, *spokes]))
