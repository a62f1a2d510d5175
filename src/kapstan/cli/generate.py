"""`kapstan generate`: manifests from types and declarations, types from CRDs, clients from types."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import click

from kapstan.cli import LazyCommand, LazyGroup, run
from kapstan.client import Client, Config
from kapstan.generate.clientset import clientset_of
from kapstan.generate.crd import crds_of, file_name
from kapstan.generate.inventory import Inventory, importable, take_inventory
from kapstan.generate.manifest import manifest, manifests
from kapstan.generate.models import models_of
from kapstan.generate.models.sources import definitions_in, definitions_of_cluster, selected
from kapstan.generate.output import stale, write_files
from kapstan.generate.rbac import MANAGER_ROLE, roles_of
from kapstan.generate.webhook import ClientConfig, conversion_patches, webhook_configurations

__all__ = ("generate",)

_EXAMPLES = """
kapstan generate cluster demo --workers 5
kapstan generate manifests memcached_operator
kapstan generate manifests memcached_operator --check
kapstan generate crd memcached_operator -o config/crd/bases
kapstan generate rbac memcached_operator -o config/rbac/role.yaml
kapstan generate rbac memcached_operator --namespace memcached-system
kapstan generate webhook memcached_operator -o config/webhook/manifests.yaml --patches config/crd/patches
kapstan generate models cert-manager.crds.yaml -o src/memcached_operator/external
kapstan generate models --cluster --group cert-manager.io -o src/memcached_operator/external
kapstan generate clientset memcached_operator.api -o src/memcached_operator/clientset
"""


def _examples(command: str = "") -> str:
    """The examples of a command, or all of them, as its help shows them."""
    lines = [f"  {line}" for line in _EXAMPLES.splitlines() if line.startswith(f"kapstan generate {command}")]
    return "\n".join(["\b", "Examples:", *lines])


_packages = click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
_namespaces = click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    help="A namespace that the manager works in, and gets a Role for; can be repeated.  [default: all of them]",
)
_check = click.option("--check", is_flag=True, help="Write nothing; fail if what is there is not up to date.")


_LAZY = {"cluster": LazyCommand("kapstan.cli.cluster.generating:generate_cluster", "Print the manifests of a cluster.")}


@click.group(cls=LazyGroup, lazy=_LAZY, epilog=_examples())
def generate() -> None:
    """Generate manifests and code.

    A PACKAGE is a Python package, as in an import; it is looked for in ./src, in the current folder and among what is
    installed. All of its modules are imported.
    """


@generate.command("manifests", epilog=_examples("manifests"))
@_packages
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    default=Path("config"),
    show_default=True,
    metavar="DIR",
    help="Folder.",
)
@_namespaces
@_check
def all_manifests(packages: tuple[str, ...], config: Path, namespaces: tuple[str, ...], check: bool) -> None:
    """Write all manifests of PACKAGE where kustomize expects them: CRDs, roles, webhooks."""
    inventory = _inventory(packages)
    files = {config / "crd/bases" / file_name(one): manifest(one) for one in crds_of(inventory.kinds)}
    files[config / "rbac/role.yaml"] = manifests(roles_of(inventory.reconcilers, namespaces=namespaces))
    files |= _patches(inventory, config / "crd/patches", ClientConfig())
    if configurations := webhook_configurations(inventory.admissions):
        files[config / "webhook/manifests.yaml"] = manifests(configurations)
    _finish(files, check)


@generate.command(epilog=_examples("crd"))
@_packages
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Folder.  [default: print them]")
@click.option("--no-descriptions", is_flag=True, help="Leave out what docstrings say.")
@_check
def crd(packages: tuple[str, ...], output: Path | None, no_descriptions: bool, check: bool) -> None:
    """Write a CustomResourceDefinition for each kind of PACKAGE."""
    kinds = _inventory(packages).kinds
    definitions = crds_of(kinds, descriptions=not no_descriptions)
    if not definitions:
        _nothing("kinds", packages)
    elif output is None:
        click.echo(manifests(definitions), nl=False)
    else:
        _finish({output / file_name(one): manifest(one) for one in definitions}, check)


@generate.command(epilog=_examples("rbac"))
@_packages
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="File.  [default: print]")
@click.option("--role-name", default=MANAGER_ROLE, show_default=True, help="Name of the role.")
@_namespaces
@_check
def rbac(
    packages: tuple[str, ...], output: Path | None, role_name: str, namespaces: tuple[str, ...], check: bool
) -> None:
    """Write the roles that the reconcilers of PACKAGE need, and no more."""
    roles = roles_of(_inventory(packages).reconcilers, name=role_name, namespaces=namespaces)
    _one_file(manifests(roles), output, check)


@generate.command(epilog=_examples("webhook"))
@_packages
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="File.  [default: print]")
@click.option(
    "--patches", type=click.Path(path_type=Path), metavar="DIR", help="Folder for conversion patches of CRDs."
)
@click.option("--service", default="webhook-service", show_default=True, help="The Service of the webhooks.")
@click.option("--namespace", default="system", show_default=True, help="The namespace of the Service.")
@_check
def webhook(
    packages: tuple[str, ...], output: Path | None, patches: Path | None, service: str, namespace: str, check: bool
) -> None:
    """Write the configurations of the webhooks of PACKAGE, and conversion patches for its CRDs."""
    inventory, client = _inventory(packages), ClientConfig(service=service, namespace=namespace)
    text = manifests(webhook_configurations(inventory.admissions, client))
    conversions = _patches(inventory, patches or Path(), client)
    if not text and not conversions:
        _nothing("webhooks", packages)
    if patches is not None:
        _finish(conversions, check)
    if text:
        _one_file(text, output, check)


@generate.command(epilog=_examples("models"))
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path), metavar="[SOURCE]...")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Folder.")
@click.option("--cluster", is_flag=True, help="Read the CRDs of the cluster that kubectl would use.")
@click.option("--kubeconfig", default="", metavar="FILE", help="With --cluster: the kubeconfig.")
@click.option("--context", default="", metavar="NAME", help="With --cluster: its context.")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Only this API group; can be repeated.")
@_check
def models(
    sources: tuple[Path, ...],
    output: Path,
    cluster: bool,
    kubeconfig: str,
    context: str,
    groups: tuple[str, ...],
    check: bool,
) -> None:
    """Write Python types for the kinds of SOURCE: CRDs or OpenAPI v3 documents, in files or folders.

    There is one module for each group and version. The types generate the same CRDs again.
    """
    if bool(sources) == cluster:
        raise click.UsageError("Give files or folders, or --cluster.")
    definitions = run(_of_cluster(kubeconfig, context)) if cluster else definitions_in(sources)
    files = {_module(output, *key): _formatted(text) for key, text in models_of(selected(definitions, groups)).items()}
    _finish({**_package(output), **files}, check)


@generate.command(epilog=_examples("clientset"))
@_packages
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Folder.")
@_check
def clientset(packages: tuple[str, ...], output: Path, check: bool) -> None:
    """Write a clientset, informers and listers with an attribute for each kind of PACKAGE."""
    sources = clientset_of(_inventory(packages).kinds)
    _finish({output / name: _formatted(text) for name, text in sources.items()}, check)


def _inventory(packages: tuple[str, ...]) -> Inventory:
    here = Path.cwd()
    importable(here)
    if (here / "src").is_dir():
        importable(here / "src")
    return take_inventory(*packages)


def _patches(inventory: Inventory, folder: Path, client: ClientConfig) -> dict[Path, str]:
    found = conversion_patches(inventory.conversions, client)
    return {folder / f"webhook_in_{plural}.yaml": manifest(patch) for plural, patch in found.items()}


async def _of_cluster(kubeconfig: str, context: str) -> list[dict[str, object]]:
    async with Client(Config.load(kubeconfig, context=context)) as client:
        return await definitions_of_cluster(client)


def _module(folder: Path, group: str, version: str) -> Path:
    name = "".join(char if char.isalnum() else "_" for char in f"{group or 'core'}_{version}")
    return folder / f"{name}.py"


def _package(folder: Path) -> dict[Path, str]:
    """An `__init__.py` makes the folder a package; one that is there stays as it is."""
    path = folder / "__init__.py"
    return (
        {}
        if path.exists()
        else {path: '"""Types of other people\'s APIs, generated by `kapstan generate models`."""\n'}
    )


def _formatted(text: str) -> str:
    """As ruff formats it, where ruff is installed."""
    if find_spec("ruff") is None:
        return text
    command = [sys.executable, "-m", "ruff", "format", "--line-length", "120", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _nothing(what: str, packages: tuple[str, ...]) -> None:
    """Not an error: a project begins without any."""
    click.echo(f"no {what} in {', '.join(packages)}", err=True)


def _one_file(text: str, output: Path | None, check: bool) -> None:
    if output is None:
        click.echo(text, nl=False)
    else:
        _finish({output: text}, check)


def _finish(files: Mapping[Path, str], check: bool) -> None:
    if not check:
        for path in write_files(files):
            click.echo(f"wrote {path}")
        return
    if difference := stale(files):
        click.echo(difference, nl=False)
        raise click.ClickException("generated files are not up to date: run the same command without --check")
