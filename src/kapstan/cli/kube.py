"""`kapstan kube`: the real Kubernetes programs, found, downloaded or built."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from kapstan.cli import run
from kapstan.cli.examples import examples
from kapstan.components import assets, cache
from kapstan.components.progress import ConsoleReporter
from kapstan.components.releases import DEFAULT_PROGRAMS, DEFAULT_VERSION, PROGRAMS, check_version

__all__ = ("kube",)

_EXAMPLES = """\b
Examples:
  kapstan kube fetch
  kapstan kube fetch --version v1.35.4 --component kube-apiserver --component etcd
  kapstan kube build --component helm
  "$(kapstan kube which kubectl)" get nodes
"""

_version = click.option("--version", metavar="VERSION", help=f"Kubernetes version.  [default: {DEFAULT_VERSION}]")
_one_version = click.option("--version", metavar="VERSION", help="Kubernetes version.  [default: all]")
_components = click.option(
    "--component",
    "components",
    multiple=True,
    type=click.Choice(list(PROGRAMS)),
    metavar="NAME",
    help=f"A program; can be repeated.  [default: {', '.join(DEFAULT_PROGRAMS)}]",
)


def _with(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.group(epilog=_EXAMPLES)
def kube() -> None:
    """Have the real Kubernetes programs at hand.

    A program is looked for in the folders that KAPSTAN_ASSETS and KUBEBUILDER_ASSETS name, on PATH (in the right
    version only) and in the cache folder (KAPSTAN_CACHE). If it is in none of them, it is downloaded
    (KAPSTAN_KUBE_MIRROR, KAPSTAN_ETCD_MIRROR, KAPSTAN_HELM_MIRROR: a mirror, or off) or built from source with Go.
    """


@kube.command(
    epilog=examples(
        "kapstan kube fetch", "kapstan kube fetch --version v1.35.4 --component kube-apiserver --component etcd"
    )
)
@_with(_version, _components)
def fetch(version: str | None, components: tuple[str, ...]) -> None:
    """Find programs, or else download or build them into the cache."""
    _show(run(assets.fetch(components or DEFAULT_PROGRAMS, version, reporter=ConsoleReporter())).values())


@kube.command(epilog=examples("kapstan kube build --component helm"))
@_with(_version, _components)
def build(version: str | None, components: tuple[str, ...]) -> None:
    """Build programs from source into the cache, even if they are there."""
    _show(run(assets.rebuild(components or DEFAULT_PROGRAMS, version, reporter=ConsoleReporter())).values())


@kube.command(epilog=examples('"$(kapstan kube which kubectl)" get nodes'))
@_with(_version)
@click.argument("program", type=click.Choice(list(PROGRAMS)), metavar="PROGRAM")
def which(program: str, version: str | None) -> None:
    """Print the path of PROGRAM, if it is on this machine."""
    click.echo(run(assets.find_all([program], version))[program])


@kube.command("list", epilog=examples("kapstan kube list", "kapstan kube list --version v1.36.3"))
@_with(_one_version)
def list_cached(version: str | None) -> None:
    """Show what the cache holds, of every version or of one."""
    wanted = check_version(version) if version else None
    versions = [found for found in cache.versions() if wanted in (None, found)]
    if not versions:
        what = f"Nothing of {wanted}" if wanted else "Nothing"
        click.echo(f"{what} is cached in {cache.cache_root()} yet: {assets.fetch_command(version=wanted)}")
    for found in versions:
        folder = cache.version_folder(found)
        programs = [program for program in PROGRAMS if cache.executable(folder / program)]
        size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file() and not file.is_symlink())
        click.echo(f"{found}  {size / 1e6:.0f} MB  {folder}\n  {', '.join(programs) or 'nothing finished yet'}")


def _show(found: Iterable[assets.Asset]) -> None:
    """One line for each place that programs were found in."""
    places: dict[str, list[str]] = {}
    for asset in found:
        places.setdefault(f"{asset.path.parent} ({asset.source})", []).append(asset.program)
    for place, programs in places.items():
        click.echo(f"{place}: {', '.join(programs)}")
