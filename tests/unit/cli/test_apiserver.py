"""`kapstan apiserver`: what keeps it from starting is told in one sentence."""

from __future__ import annotations

import re
import socket
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kapstan.apiserver.controllers.manager import KUBE_CONTROLLER_MANAGER
from kapstan.cli import main
from kapstan.cli.apiserver import _left_out


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["apiserver", *arguments])


def sentence(result: Result) -> str:
    """The one line that was printed, of a command that failed."""
    assert result.exit_code == 1, result.output
    assert result.output.count("\n") == 1, result.output
    return result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--secure-port", "http"], "'http' is not a valid integer"),
        (["--secure-port", "70000"], "70000 is not in the range"),
        (["--nonsense"], "No such option"),
        (["--durability", "eternal"], "'eternal' is not one of"),
        (["extra"], "unexpected extra argument"),
        (["--without-controllers", "namespace-controller,nope"], "no controller 'nope' to leave out; there are kube-"),
        (["--advertise-address", "here"], "'here' cannot be advertised, it is no IP address"),
        (["--advertise-address", "127.0.0.1"], "nobody else finds this machine there"),
    ],
)
def test_wrong_flags(arguments: list[str], message: str) -> None:
    assert re.search(message, sentence(run(*arguments)))


def test_controllers_that_are_left_out_by_name_or_all_of_kube_controller_manager() -> None:
    assert _left_out("") == []
    assert _left_out(" namespace-controller, event-expiry") == ["namespace-controller", "event-expiry"]
    assert _left_out("kube-controller-manager") == list(KUBE_CONTROLLER_MANAGER)
    assert "event-expiry" not in _left_out("kube-controller-manager"), "that is kube-apiserver's own"


def test_help_shows_how_to_leave_controllers_to_others() -> None:
    said = run("--help").output
    assert "kapstan apiserver --without-controllers garbage-collector-controller,namespace-controller" in said


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = sentence(run("--secure-port", str(port), "--kubeconfig", str(tmp_path / "k")))
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in said
    assert not (tmp_path / "k").exists()


def test_an_address_that_is_not_ours(tmp_path: Path) -> None:
    said = sentence(run("--bind-address", "192.0.2.1", "--kubeconfig", str(tmp_path / "k")))
    assert "cannot listen on 192.0.2.1" in said


def test_a_damaged_database_is_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "kapstan.db"
    database.write_bytes(b"garbage " * 1000)
    assert "is damaged or not a database" in sentence(run("--data-dir", str(tmp_path)))
    assert database.read_bytes() == b"garbage " * 1000


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "kapstan.db")
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = (tmp_path / "kapstan.db").read_bytes()
    assert "belongs to another program" in sentence(run("--data-dir", str(tmp_path)))
    assert (tmp_path / "kapstan.db").read_bytes() == before


def test_a_kubeconfig_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    said = sentence(run("--kubeconfig", str(tmp_path / "folder")))
    assert "folder" in said
