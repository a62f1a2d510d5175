"""The inventory of a package: what it declares itself, and where it fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from kapstan.generate.errors import GenerateError
from kapstan.generate.inventory import importable, take_inventory

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes the modules of a package, and gives its name."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.split(".")[0] == "inventoried"]:
        monkeypatch.delitem(sys.modules, name)
    importable(tmp_path)

    def write(**modules: str) -> str:
        folder = tmp_path / "inventoried"
        folder.mkdir()
        for name, source in {"__init__": "", **modules}.items():
            (folder / f"{name}.py").write_text(dedent(source))
        return "inventoried"

    return write


def test_everything_is_found_once_where_it_is_defined(write: Write) -> None:
    package = write(
        api="""
            from kapstan.machinery.model import Resource
            from kapstan.machinery.scheme import resource

            @resource(group="test.kapstan.dev", version="v1")
            class Thing(Resource): ...

            class Unserved(Resource): ...
        """,
        controller="""
            from kapstan.runtime.declaration import controller, rbac
            from kapstan.runtime.reconcile import Reconciler
            from kapstan.k8s.core_v1 import Pod
            from .api import Thing

            class Base(Reconciler): ...

            @controller(Thing)
            class ThingReconciler(Base): ...

            class Other(Reconciler[Pod]): ...

            class Informed:
                __rbac__ = (rbac,)
        """,
        hooks="""
            from kapstan.runtime.webhook.declaration import convert, defaulter, validator
            from .api import Thing

            @defaulter(Thing)
            def default(thing): ...

            @convert(Thing, Thing)
            def up(thing): ...
        """,
        __main__="raise SystemExit('must not be imported')",
    )
    found = take_inventory(package)
    assert [kind.__name__ for kind in found.kinds] == ["Thing"]
    assert [cls.__name__ for cls in found.reconcilers] == ["ThingReconciler", "Other", "Informed"]
    assert [admission.path for admission in found.admissions] == ["/mutate-test-kapstan-dev-v1-thing"]
    assert len(found.conversions) == 1
    assert [info.plural for info in found.infos] == ["things"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nowhere_to_be_found", r"broken\.py:1: ModuleNotFoundError: .*nowhere_to_be_found"),
        ("x = \n", r"broken\.py:1: invalid syntax"),
        ("\n1 / 0", r"broken\.py:2: ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_fails_is_named_with_the_line(write: Write, source: str, message: str) -> None:
    with pytest.raises(GenerateError, match=message):
        take_inventory(write(broken=source))


def test_a_package_that_is_not_there_is_named() -> None:
    with pytest.raises(GenerateError, match="there is no package 'no_such_package'"):
        take_inventory("no_such_package")
