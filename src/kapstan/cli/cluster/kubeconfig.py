"""`kapstan cluster kubeconfig`: the way into a cluster."""

from __future__ import annotations

from pathlib import Path

import click

from kapstan.cli import run
from kapstan.cli.cluster.session import connected, existing, named_cluster
from kapstan.cli.examples import examples
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.errors import ConfigError

__all__ = ("kubeconfig",)


@click.command(
    epilog=examples(
        "kubectl --kubeconfig <(kapstan cluster kubeconfig demo) get nodes",
        "kapstan cluster kubeconfig demo -o demo.kubeconfig",
    )
)
@named_cluster
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A file to write it to, for its owner only."
)
def kubeconfig(name: str, namespace: str, kubeconfig: str, context: str, output: Path | None) -> None:
    """Print the administrator's kubeconfig of cluster NAME."""
    content = run(_read(name, namespace, kubeconfig, context))
    if output is None:
        click.echo(content, nl=False)
        return
    _write(output, content)
    click.echo(f"export KUBECONFIG={output.absolute()}")


async def _read(name: str, namespace: str, kubeconfig: str, context: str) -> str:
    async with connected(kubeconfig, context) as client:
        cluster = await existing(client, name, namespace)
        secret = await client.find(Secret, f"{name}-kubeconfig", cluster.namespace)
    value = secret.data.get("value") if secret is not None else None
    if not value:
        raise ConfigError(
            f"cluster {cluster.key} has no kubeconfig yet: see what it waits for with `kapstan cluster describe {name}`"
        )
    return value.decode()


def _write(path: Path, content: str) -> None:
    try:
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_text(content)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error
