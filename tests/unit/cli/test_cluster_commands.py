"""Commands about clusters that need no management plane, and what is drawn for people."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from rich.console import Console

from kapstan.cli import main
from kapstan.cli.cluster.drawing import age, draw, listed, show
from kapstan.cli.values import duration
from kapstan.cluster.management.tree import Part
from kapstan.machinery.meta import Condition, ConditionStatus


def kapstan(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


# --- Generating -------------------------------------------------------------------------------------------------------


def test_what_is_generated_has_the_values_that_were_given() -> None:
    result = kapstan("generate", "cluster", "demo", "--workers", "7", "-n", "team", "--set", "WORKER_CPU=16")
    documents = {one["kind"]: one for one in yaml.safe_load_all(result.stdout)}
    assert documents["MachineDeployment"]["spec"]["replicas"] == 7
    assert documents["Cluster"]["metadata"] == {"name": "demo", "namespace": "team"}
    assert documents["SimulatedMachineTemplate"]["spec"]["template"]["spec"]["capacity"]["cpu"] == "16"


def test_the_environment_has_values_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_VERSION", "v1.35.4")
    assert "version: v1.35.4" in kapstan("generate", "cluster", "demo").stdout
    assert "version: v1.36.1" in kapstan("generate", "cluster", "demo", "--kubernetes-version", "v1.36.1").stdout


def test_a_template_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "template.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${CLUSTER_NAME}-${SUFFIX}\n")
    assert "name: a-b" in kapstan("generate", "cluster", "a", "--from", str(file), "--set", "SUFFIX=b").stdout
    assert kapstan("generate", "cluster", "--from", str(file), "--list-variables").stdout.splitlines() == [
        "CLUSTER_NAME  (required)",
        "SUFFIX  (required)",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["generate", "cluster", "Demo"], "'Demo' cannot be the name of a cluster: "),
        (["generate", "cluster", "demo", "-n", "My Team"], "'My Team' cannot be the name of a namespace: "),
        (["generate", "cluster", "demo", "--flavor", "x"], "there is no flavor 'x'; there are hosted, simulated"),
        (["generate", "cluster", "demo", "--from", "/no/such/file"], "cannot read the template /no/such/file: No such"),
        (["cluster", "list", "--kubeconfig", "/no/such/file"], "/no/such/file"),
    ],
)
def test_what_is_wrong_is_one_sentence(arguments: list[str], sentence: str) -> None:
    result = kapstan(*arguments)
    assert result.exit_code == 1 and result.stderr.startswith("Error: ")
    assert sentence in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["generate", "cluster"], "Name the cluster: kapstan generate cluster NAME"),
        (["generate", "cluster", "demo", "--set", "x"], "--set 'x': write NAME=VALUE"),
        (
            ["generate", "cluster", "demo", "--kubernetes-version", "1.36"],
            "'1.36' is no version of Kubernetes: write all",
        ),
        (["cluster", "upgrade", "demo", "--kubernetes-version", "latest"], "'latest' is no version of Kubernetes: "),
        (["cluster", "scale", "demo"], "Say what to scale: --workers N, --control-plane N, or both"),
        (
            ["cluster", "delete", "demo", "--timeout", "soon"],
            "'soon' is no time to wait: write seconds, or such as 90s",
        ),
        (["cluster", "delete", "demo", "--timeout", "0"], "'0' is no time to wait: "),
        (["cluster", "describ", "demo"], "No such command 'describ'. Did you mean describe?"),
        (["up", "--context", "x"], "--context goes with --kubeconfig"),
    ],
)
def test_a_command_that_is_called_wrongly_says_how_to_call_it(arguments: list[str], sentence: str) -> None:
    result = kapstan(*arguments)
    assert result.exit_code == 2 and result.stderr.startswith("Usage: ")
    assert f"Error: {sentence}" in result.stderr.replace("Invalid value for '--kubernetes-version': ", "").replace(
        "Invalid value for '--timeout': ", ""
    )


@pytest.mark.parametrize("version", ["1.36.1", "v1.36.1"])
def test_a_version_may_be_written_without_its_v(version: str) -> None:
    made = kapstan("generate", "cluster", "demo", "--kubernetes-version", version).stdout
    assert made.count("version: v1.36.1\n") == 2


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("0.5", 0.5), ("90s", 90), ("10m", 600), ("1h30m", 5400)])
def test_a_time_is_in_seconds_or_as_kubectl_has_it(text: str, seconds: float) -> None:
    assert duration(text) == seconds


def test_a_template_may_come_through_a_pipe() -> None:
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${CLUSTER_NAME}\n"
    result = CliRunner().invoke(main, ["generate", "cluster", "demo", "--from", "-"], input=template)
    assert result.stdout == template.replace("${CLUSTER_NAME}", "demo")


# --- Drawing ----------------------------------------------------------------------------------------------------------


def part(kind: str, name: str = "", status: ConditionStatus = "True", message: str = "", **more: object) -> Part:
    said = Condition(type="Ready", status=status, reason="Because", message=message)
    found = Part(kind=kind, name=name, condition=said)
    for field, value in more.items():
        setattr(found, field, value)
    return found


def drawn(capsys: pytest.CaptureFixture[str], tree: Part) -> str:
    draw(Console(highlight=False, width=200), tree)
    return capsys.readouterr().out


def test_a_tree_shows_who_belongs_to_whom(capsys: pytest.CaptureFixture[str]) -> None:
    tree = part("Cluster", "c", parts=[part("A", "a", parts=[part("B", "b")]), part("D", "d", role="Workers")])
    lines = [line.split("  ")[0] for line in drawn(capsys, tree).splitlines()]
    assert lines == ["NAME", "Cluster/c", "├─A/a", "│ └─B/b", "└─Workers - D/d"]


def test_what_is_waited_for_is_told_once_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Not of the cluster, which only waits for its machine."""
    machine = part("Machine", "m", "False", "* NodeHealthy: no node yet")
    output = drawn(capsys, part("Cluster", "c", "False", "* Workers: some", parts=[machine]))
    assert output.endswith("\nWaiting for:\n  Machine/m: NodeHealthy: no node yet\n")


def test_many_machines_that_are_well_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    machines = [part("Machine", f"m-{number}") for number in range(20)]
    output = drawn(capsys, part("Cluster", "c", parts=[*machines, part("Machine", "ill", "False", "it is ill")]))
    assert "├─20 Machines" in output and "└─Machine/ill" in output and "m-7" not in output


def test_a_terminal_gets_colours_and_a_pipe_none(capsys: pytest.CaptureFixture[str]) -> None:
    screen = io.StringIO()
    draw(Console(file=screen, force_terminal=True, color_system="standard", width=200), part("Cluster", "c"))
    assert "\x1b[32mReady: True" in screen.getvalue()
    assert "\x1b" not in drawn(capsys, part("Cluster", "c"))


@pytest.mark.parametrize("width", [20, 60, 100])
def test_a_narrow_terminal_cuts_the_last_column_only(width: int) -> None:
    """Which cluster it is, and how it is, can always be read."""
    screen = io.StringIO()
    table = listed("NAMESPACE", "NAME", "AVAILABLE", "WAITING FOR")
    table.add_row("default", "a-cluster-with-a-name", "no", "something " * 20)
    show(Console(file=screen, force_terminal=True, color_system=None, width=width), table)
    heading, row = screen.getvalue().splitlines()
    assert heading.split() == ["NAMESPACE", "NAME", "AVAILABLE", "WAITING", "FOR"]
    assert row.startswith("default     a-cluster-with-a-name   no          something")
    assert row.rstrip().endswith("…") and len(row) <= max(width, 63)


def test_what_several_conditions_say_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    message = "* DatastoreReady: no programs\n* APIServerHealthy: no programs\n* Kubeconfig: waiting\n* Odd\n* Even"
    output = drawn(capsys, part("ControlPlane", "c", "False", message))
    assert "/c: DatastoreReady, APIServerHealthy: no programs; Kubeconfig: waiting; Odd; Even\n" in output


def test_what_is_told_below_a_heading_stands_behind_it(capsys: pytest.CaptureFixture[str]) -> None:
    message = "* WorkersAvailable:\n  * MachineDeployment a: 0 of 1\n* ControlPlaneAvailable: no"
    output = drawn(capsys, part("Cluster", "c", "False", message))
    assert "Cluster/c: WorkersAvailable: MachineDeployment a: 0 of 1; ControlPlaneAvailable: no\n" in output


@pytest.mark.parametrize(("seconds", "word"), [(5, "5s"), (119, "119s"), (120, "2m"), (7200, "2h"), (172_800, "2d")])
def test_ages_are_one_word(seconds: int, word: str) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert age(now - timedelta(seconds=seconds), now) == word
