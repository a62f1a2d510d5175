"""`kapstan generate cluster`: templates, their variables, and what cannot be made of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from kapstan.cli import main


def generate(*arguments: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(main, ["generate", "cluster", *arguments])


@pytest.mark.parametrize("flavor", ["simulated", "hosted"])
def test_every_flavor_is_a_cluster_with_workers(flavor: str) -> None:
    made = generate("demo", "--flavor", flavor, "--workers", "5", "--namespace", "fleet")
    assert made.exit_code == 0, made.output
    documents = {one["kind"]: one for one in yaml.safe_load_all(made.output)}
    assert {one["metadata"]["namespace"] for one in documents.values()} == {"fleet"}
    assert documents["Cluster"]["metadata"]["name"] == "demo"
    assert documents["MachineDeployment"]["spec"]["replicas"] == 5


def test_variables_come_from_options_then_settings_then_the_environment(tmp_path: Path) -> None:
    template = tmp_path / "t.yaml"
    template.write_text("{kind: A, apiVersion: v1, metadata: {name: ${CLUSTER_NAME}}, a: [${B}, ${C}, ${D:-5}]}\n")
    made = generate("demo", "--from", str(template), "--set", "B=1", B="2", C="3", CLUSTER_NAME="other")
    assert yaml.safe_load(made.output)["a"] == [1, 3, 5]
    assert yaml.safe_load(made.output)["metadata"]["name"] == "demo"
    listed = generate("--from", str(template), "--list-variables").output.splitlines()
    assert listed == ["B  (required)", "C  (required)", "CLUSTER_NAME  (required)", "D  (default: '5')"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("Demo_X",), "'Demo_X' cannot be the name of a cluster"),
        (("demo", "--flavor", "nope"), "there is no flavor 'nope'; there are hosted, simulated"),
        (("demo", "--from", "absent.yaml"), "cannot read the template absent.yaml"),
    ],
)
def test_what_cannot_be_made_is_one_sentence(arguments: tuple[str, ...], said: str) -> None:
    refused = generate(*arguments)
    assert refused.exit_code == 1
    assert refused.stderr.startswith(f"Error: {said}") and refused.stderr.count("\n") == 1


def test_a_variable_without_a_value_is_named(tmp_path: Path) -> None:
    template = tmp_path / "t.yaml"
    template.write_text("a: ${FOO}\n")
    refused = generate("demo", "--from", str(template))
    assert refused.exit_code == 1
    assert refused.stderr == "Error: no value for FOO: set it in the environment, or with --set NAME=VALUE\n"
