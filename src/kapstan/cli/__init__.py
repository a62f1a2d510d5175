"""The command `kapstan`. Subcommands are named here and imported only when they are called.

    kapstan = one table of commands; a new one adds a line to `COMMANDS` and a module with a click command.

What goes wrong in a way that we foresaw (`KapstanError`) ends in one sentence and exit code 1, wrong usage in exit
code 2, Ctrl-C in exit code 130. A traceback is a bug.
"""

from __future__ import annotations

import asyncio
import difflib
import importlib
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import click

from kapstan.cli.examples import examples
from kapstan.machinery.errors import KapstanError
from kapstan.version import __version__

__all__ = ("COMMANDS", "LazyCommand", "LazyGroup", "main", "run")

_T = TypeVar("_T")

_INTERRUPTED = 130


class LazyCommand(NamedTuple):
    """A command that is imported when it is called; its help is here, so that `--help` imports nothing."""

    target: str  # module:attribute
    help: str


COMMANDS: Mapping[str, LazyCommand] = {
    "cluster": LazyCommand("kapstan.cli.cluster:cluster", "Create, look at, change and delete clusters."),
    "completion": LazyCommand("kapstan.cli.completion:completion", "Have the shell complete commands and options."),
    "create": LazyCommand("kapstan.cli.create:create", "Add kinds, controllers and webhooks to a project."),
    "demo": LazyCommand("kapstan.cli.demo:demo", "Show what kapstan does, on this machine."),
    "edit": LazyCommand("kapstan.cli.edit:edit", "Change how a project is laid out."),
    "init": LazyCommand("kapstan.cli.init:init", "Begin an operator's project."),
    "envtest": LazyCommand("kapstan.cli.envtest:envtest", "Have Go test suites run on the embedded API server."),
    "generate": LazyCommand(
        "kapstan.cli.generate:generate", "Generate manifests, types, clients; clusters from templates."
    ),
    "apiserver": LazyCommand("kapstan.cli.apiserver:apiserver", "Run a Kubernetes API server with nothing installed."),
    "kube": LazyCommand("kapstan.cli.kube:kube", "Have the real Kubernetes programs at hand."),
    "manager": LazyCommand("kapstan.cli.manager:manager", "Run the controllers in a pod of the management cluster."),
    "up": LazyCommand("kapstan.cli.up:up", "Run a management plane, with nothing installed."),
    "version": LazyCommand("kapstan.cli.version:version", "Print the versions of kapstan, Kubernetes and Python."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def __init__(self, *args: Any, lazy: Mapping[str, LazyCommand], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._lazy[cmd_name].target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if near := difflib.get_close_matches(args[0], self.list_commands(ctx)):
                raise click.UsageError(f"{error.message} Did you mean {' or '.join(near)}?", ctx) from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._short_help(ctx, name)) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(_INTERRUPTED) from None
        except KapstanError as error:
            raise click.ClickException(str(error)) from error
        except BaseExceptionGroup as group:
            if group.subgroup(lambda error: isinstance(error, KeyboardInterrupt)):
                raise click.exceptions.Exit(_INTERRUPTED) from None
            foreseen, rest = group.split(KapstanError)
            if foreseen is None or rest is not None:
                raise
            raise click.ClickException("\n".join(dict.fromkeys(map(str, _leaves(foreseen))))) from group

    def _short_help(self, ctx: click.Context, name: str) -> str:
        if name in self._lazy:
            return self._lazy[name].help
        command = super().get_command(ctx, name)
        return command.get_short_help_str() if command else ""


def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a command's coroutine to its end."""
    return asyncio.run(coroutine)


def _leaves(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


_EXAMPLES = examples(
    "kapstan demo                                     # what it does, on this machine",
    "kapstan up                                       # a management plane",
    "kapstan cluster create demo --workers 3 --wait   # a cluster",
    "kapstan init --domain example.com                # an operator of your own",
    "kapstan apiserver --data-dir ./data              # only the API",
)


@click.group(cls=LazyGroup, lazy=COMMANDS, epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kapstan")
def main() -> None:
    """Cluster API in Python, and the operator SDK it is built with."""
