"""Models from CRDs: the types that are written generate the same CRD again."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from kapstan.generate.crd import crd_of, crds_of
from kapstan.generate.models import models_of
from kapstan.generate.models.naming import class_name, field_name, needs_alias
from kapstan.machinery.codec import convert, to_builtins
from kapstan.machinery.model import Resource

ZOO = Path(__file__).parent / "zoo.yaml"


def load(definitions: list[dict[str, Any]], folder: Path) -> list[type[Resource]]:
    """Write the models of the definitions, import them, and give the kinds."""
    found: list[type[Resource]] = []
    for (group, version), source in models_of(definitions).items():
        name = f"zoo_{group}_{version}".replace(".", "_").replace("-", "_")
        path = folder / f"{name}.py"
        path.write_text(source)
        module = sys.modules[name] = ModuleType(name)
        module.__file__ = str(path)
        exec(compile(source, str(path), "exec"), module.__dict__)
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Resource) and "__resource__" in vars(value)
        ]
    return found


def test_the_zoo_round_trips(tmp_path: Path) -> None:
    """One CRD with every keyword comes back as it was, descriptions included."""
    definition = yaml.safe_load(ZOO.read_text())
    assert crds_of(load([definition], tmp_path)) == [definition]


def test_an_object_of_the_zoo_decodes_and_encodes(tmp_path: Path) -> None:
    definition = yaml.safe_load(ZOO.read_text())
    newest = next(cls for cls in load([definition], tmp_path) if cls.__resource__.version == "v1")
    document = {
        "apiVersion": "zoo.kapstan.dev/v1",
        "kind": "Animal",
        "metadata": {"name": "leo"},
        "spec": {"species": "lion", "providerID": "x://1", "from": "here", "legs": [{"name": "left", "length": 3}]},
    }
    assert {**to_builtins(convert(document, newest))} == document


def test_the_models_of_our_own_types_are_our_own_types_again(tmp_path: Path) -> None:
    definition = yaml.safe_load(ZOO.read_text())
    classes = load([definition], tmp_path)
    again = load([crd_of(*classes)], tmp_path)
    assert crd_of(*again) == crd_of(*classes)


@pytest.mark.parametrize(
    ("json_name", "python_name", "aliased"),
    [
        ("replicas", "replicas", False),
        ("matchLabels", "match_labels", False),
        ("providerID", "provider_id", True),
        ("from", "from_", False),
        ("x-y.z", "x_y_z", True),
        ("podCIDRs", "pod_cidrs", True),
        ("3d", "f_3d", True),
        ("list", "list_", False),
    ],
)
def test_names_are_pythonic_and_can_be_had_back(json_name: str, python_name: str, aliased: bool) -> None:
    assert field_name(json_name) == python_name
    if json_name.isidentifier() and "_" not in python_name.strip("_"):
        return
    assert needs_alias(python_name, json_name) is aliased


def test_class_names_are_capitalised() -> None:
    assert class_name("nodeRef") == "NodeRef"
    assert class_name("x-kubernetes") == "XKubernetes"
