"""`kapstan envtest`: the embedded API server for test suites in Go."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from kapstan.cli import run

__all__ = ("envtest",)

_EXAMPLES = """\b
Examples:
  eval "$(kapstan envtest)" && go test ./...
  kapstan envtest --dir bin/k8s/kapstan
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write the programs.  [default: envtest in kapstan's cache folder]",
)
@click.option(
    "--controllers/--no-controllers",
    default=True,
    show_default=True,
    help="Whether garbage is collected and namespaces end, which they do not with the real kube-apiserver alone.",
)
def envtest(folder: Path | None, controllers: bool) -> None:
    """Have Go test suites run on the embedded API server.

    Suites that use controller-runtime's envtest start the kube-apiserver and the etcd that they find in the folder
    KUBEBUILDER_ASSETS. This writes programs of these names that start the embedded server, and prints what to set.
    """
    from kapstan.apiserver.envtest import assets
    from kapstan.components import cache
    from kapstan.components.assets import find

    folder = (folder or cache.cache_root() / ("envtest" if controllers else "envtest-no-controllers")).absolute()
    kubectl = run(find("kubectl"))
    assets.write(folder, kubectl=kubectl.path if kubectl else None, controllers=controllers)
    click.echo(f"export KUBEBUILDER_ASSETS={shlex.quote(str(folder))}")
