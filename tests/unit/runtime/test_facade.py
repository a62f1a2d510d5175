"""The names that `from kapstan import ...` offers."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kapstan


@pytest.mark.parametrize("name", sorted(kapstan._MODULES))
def test_every_name_is_there(name: str) -> None:
    assert getattr(kapstan, name) is not None


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(kapstan.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen == kapstan._MODULES


def test_importing_it_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import kapstan; print(*sorted(set(sys.modules) - before))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in said if name.startswith("kapstan")] == ["kapstan", "kapstan.version"]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = kapstan.Nonsense
    assert "Manager" in dir(kapstan)
