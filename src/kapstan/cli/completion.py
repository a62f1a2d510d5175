"""`kapstan completion`: have the shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ("completion",)

_EXAMPLES = """\b
Examples:
  source <(kapstan completion bash)
  kapstan completion zsh > "${fpath[1]}/_kapstan"
  kapstan completion fish > ~/.config/fish/completions/kapstan.fish
"""


@click.command(epilog=_EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that has SHELL complete kapstan's commands and options."""
    script = get_completion_class(shell)
    assert script is not None
    program = ctx.find_root().info_name or "kapstan"
    complete = script(ctx.find_root().command, {}, program, "_KAPSTAN_COMPLETE")
    click.echo(complete.source_template % complete.source_vars())
