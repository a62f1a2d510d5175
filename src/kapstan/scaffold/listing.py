"""Lists that grow with a project: what main adds, what kustomizations name, what packages export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from kapstan.generate.roles import USER_ROLES
from kapstan.scaffold.names import module_name
from kapstan.scaffold.project import Project, ProjectResource
from kapstan.scaffold.values import Values, controller_package, is_grouped, project_values, webhook_package

__all__ = ("conversion_module", "listed_values", "packages", "role_file")


def listed_values(project: Project) -> Values:
    """The lists, each as the lines that stand in a file."""
    apis = [one for one in project.resources if one.api is not None]
    converted = [one for one in apis if one.webhooks is not None and one.webhooks.conversion]
    return {
        "main_imports": _lines(sorted(_main(project))),
        "main_adds": _lines(added for adds in dict(sorted(_main(project).items())).values() for added in adds),
        "crd_bases": _lines(_unique(f"- bases/{one.qualified_group}_{one.plural_name}.yaml" for one in apis)),
        "crd_patches": _lines(_unique(f"- path: patches/webhook_in_{one.plural_name}.yaml" for one in converted)),
        "samples": _lines(f"- {one.group}_{one.version}_{one.kind.lower()}.yaml" for one in apis),
        "user_roles": _lines(_unique(f"- {role_file(project, one, role)}" for one in apis for role in USER_ROLES)),
        "image_variables": _lines(_image_variables(project)),
        "images": bool(_image_variables(project)),
        "trusting_namespaces": _lines(_trusting(project, converted, 0)),
        "trusting_names": _lines(_trusting(project, converted, 1)),
    }


def role_file(project: Project, resource: ProjectResource, role: str) -> str:
    prefix = f"{resource.group}_" if is_grouped(project, resource) else ""
    return f"{prefix}{resource.kind.lower()}_{role}_role.yaml"


def conversion_module(resource: ProjectResource, spoke: str) -> str:
    return f"{resource.module}_conversion_{spoke}"


def _main(project: Project) -> dict[str, list[str]]:
    """An import of the main module, and the calls that add what it imports."""
    kinds = Counter(one.kind for one in project.resources if one.controller)
    found: dict[str, list[str]] = {}
    for one in project.resources:
        if one.controller:
            name = f"{one.kind}Reconciler"
            alias = f"{module_name(one.group).title()}{name}" if kinds[one.kind] > 1 else name
            renamed = f" as {alias}" if alias != name else ""
            found[f"from {controller_package(project, one)}.{one.module} import {name}{renamed}"] = [_add(f"{alias}()")]
        found |= _webhooks(project, one)
    return found


def _webhooks(project: Project, one: ProjectResource) -> dict[str, list[str]]:
    if one.webhooks is None:
        return {}
    package, found = webhook_package(project, one), {}
    group = f"{module_name(one.group)}_" if is_grouped(project, one) else ""
    if one.webhooks.admission:
        name = f"{group}{one.module}_{one.version}"
        functions = {"default": one.webhooks.defaulting, "validate": one.webhooks.validation}
        adds = [_add(f"{name}.{function}") for function, wanted in functions.items() if wanted]
        found[f"from {package} import {one.module} as {name}"] = adds
    for spoke in one.webhooks.spoke if one.webhooks.conversion else ():
        module = conversion_module(one, spoke)
        adds = [_add(f"{group}{module}.{function}") for function in (f"from_{spoke}", f"to_{spoke}")]
        renamed = f" as {group}{module}" if group else ""
        found[f"from {package} import {module}{renamed}"] = adds
    return found


def _add(what: str) -> str:
    return f"manager.add({what})"


def _image_variables(project: Project) -> list[str]:
    """The environment variables that say which images operands run."""
    found: list[str] = []
    for one in project.resources:
        image = project.deploy_image(one)
        if image is not None:
            found += [f"- name: {one.kind.upper()}_IMAGE", f"  value: {image.image}"]
    return found


def _trusting(project: Project, converted: Iterable[ProjectResource], index: int) -> list[str]:
    """Where kustomize writes whose certificate to trust: which of the two parts of an annotation, in which objects."""
    values = project_values(project)
    kinds = {
        "ValidatingWebhookConfiguration": values["validation"],
        "MutatingWebhookConfiguration": values["defaulting"],
    }
    selects = [[f"    kind: {kind}"] for kind, wanted in kinds.items() if wanted]
    names = _unique(f"{one.plural_name}.{one.qualified_group}" for one in converted)
    selects += [["    kind: CustomResourceDefinition", f"    name: {name}"] for name in names]
    rest = [
        "  fieldPaths:",
        "  - .metadata.annotations.[cert-manager.io/inject-ca-from]",
        "  options:",
        '    delimiter: "/"',
        f"    index: {index}",
        "    create: true",
    ]
    return [line for select in selects for line in ("- select:", *select, *rest)]


def packages(project: Project, files: Iterable[str]) -> dict[str, str]:
    """An `__init__.py` for each folder of modules; those of API versions export their kinds."""
    header = str(project_values(project)["header"])
    folders = {
        folder
        for path in files
        if path.startswith("src/") and path.endswith(".py")
        for folder in PurePosixPath(path).parents
        if len(folder.parts) > 1
    }
    exports = _exports(project)
    return {f"{folder}/__init__.py": header + _package(project, folder, exports) for folder in sorted(folders)}


def _package(project: Project, folder: PurePosixPath, exports: dict[str, list[ProjectResource]]) -> str:
    dotted = ".".join(folder.parts[1:])
    kinds = exports.get(dotted, [])
    if kinds:
        imports = sorted(f"from {dotted}.{one.module} import {one.kind}" for one in kinds)
        names = "".join(f'"{name}", ' for name in sorted(one.kind for one in kinds))
        exported = f"({names[:-1]})" if len(kinds) == 1 else f"({names[:-2]})"
        title = f"{kinds[0].qualified_group}/{kinds[0].version}."
        return f'"""{title}"""\n\n' + "\n".join(imports) + f"\n\n__all__ = {exported}\n"
    titles = {
        project.repo: f"{project.project_name}: a Kubernetes operator.",
        f"{project.repo}.api": "The kinds that this operator defines.",
        f"{project.repo}.controller": "The controllers of this operator.",
        f"{project.repo}.webhook": "The webhooks of this operator.",
    }
    return f'"""{titles.get(dotted, f"{folder.name} of {folder.parts[-2]}.")}"""\n'


def _exports(project: Project) -> dict[str, list[ProjectResource]]:
    found: dict[str, list[ProjectResource]] = {}
    for one in project.resources:
        if one.api is not None:
            found.setdefault(one.path, []).append(one)
    return found


def _unique(lines: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(lines)


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)
