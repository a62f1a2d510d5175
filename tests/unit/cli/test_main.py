"""The root command: what people see when they ask for help, err, or change their mind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import click
import pytest
from click.testing import CliRunner

from kapstan import __main__ as program
from kapstan import __version__
from kapstan.cli import COMMANDS, LazyCommand, LazyGroup, main
from kapstan.machinery.errors import ConfigError


def group_with(command: Callable[[], None]) -> LazyGroup:
    group = LazyGroup("test", lazy={})
    group.add_command(click.command("do")(command))
    return group


def test_version() -> None:
    result = CliRunner().invoke(main, ["--version"])

    assert (result.exit_code, result.output) == (0, f"kapstan, version {__version__}\n")


def test_help_lists_every_command_without_importing_any() -> None:
    group = LazyGroup("test", lazy={"later": LazyCommand("kapstan.no.such.module:command", "Comes later.")})

    result = CliRunner().invoke(group, ["--help"])

    assert result.exit_code == 0
    assert "later  Comes later." in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_exists(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])

    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {name} ")


def commands(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, *path, name)


def test_the_help_of_every_command_has_examples() -> None:
    for path in commands(main):
        output = CliRunner().invoke(main, [*path, "--help"], prog_name="kapstan").output
        assert " ".join(["kapstan", *path]) in output.partition("\n  Examples:\n")[2], path


def test_the_command_version_tells_of_kubernetes_and_python_too() -> None:
    lines = CliRunner().invoke(main, ["version"]).output.splitlines()
    assert [line.split()[0] for line in lines] == ["kapstan", "Kubernetes", "Python"]
    assert lines[0].split()[1] == f"v{__version__}"


def test_a_command_is_imported_when_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("late_module")
    module.__dict__["command"] = click.command("late")(lambda: click.echo("here"))
    monkeypatch.setitem(sys.modules, "late_module", module)

    result = CliRunner().invoke(LazyGroup("test", lazy={"late": LazyCommand("late_module:command", "")}), ["late"])

    assert result.output == "here\n"


def raises(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


def test_an_error_that_we_foresaw_is_one_sentence() -> None:
    result = CliRunner().invoke(group_with(raises(ConfigError("the kubeconfig is empty"))), ["do"])

    assert (result.exit_code, result.output) == (1, "Error: the kubeconfig is empty\n")


def test_errors_out_of_a_task_group_are_told_each_once() -> None:
    errors = ExceptionGroup("", [ConfigError("one"), ExceptionGroup("", [ConfigError("two"), ConfigError("one")])])

    result = CliRunner().invoke(group_with(raises(errors)), ["do"])

    assert (result.exit_code, result.output) == (1, "Error: one\ntwo\n")


def test_a_bug_is_not_dressed_up() -> None:
    errors = ExceptionGroup("", [ConfigError("one"), ZeroDivisionError()])

    result = CliRunner().invoke(group_with(raises(errors)), ["do"])

    assert result.exception is errors


INTERRUPTS = [KeyboardInterrupt(), BaseExceptionGroup("", [KeyboardInterrupt(), ConfigError("while stopping")])]


@pytest.mark.parametrize("error", INTERRUPTS, ids=["alone", "out of a task group"])
def test_ctrl_c_exits_as_a_shell_expects(error: BaseException) -> None:
    result = CliRunner().invoke(group_with(raises(error)), ["do"])

    assert (result.exit_code, result.output) == (130, "")


def test_an_interruption_is_quiet_from_the_first_import_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kapstan.cli.main", interrupted)
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 130
