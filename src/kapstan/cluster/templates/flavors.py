"""Flavors: the templates that come with the product, and templates in files."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

from kapstan.machinery.errors import ConfigError

__all__ = ("DEFAULT_FLAVOR", "flavor", "flavors", "template_in")

DEFAULT_FLAVOR = "simulated"
_FOLDER = files(__package__) / "flavors"
_SUFFIX = ".yaml"


def flavors() -> list[str]:
    """The flavors that there are."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in _FOLDER.iterdir() if file.name.endswith(_SUFFIX))


def flavor(name: str) -> str:
    """The template of a flavor; ConfigError names those that there are."""
    if name not in flavors():
        raise ConfigError(f"there is no flavor {name!r}; there are {', '.join(flavors())}")
    return (_FOLDER / f"{name}{_SUFFIX}").read_text()


def template_in(path: Path) -> str:
    """A template in a file, or from standard input (`-`); ConfigError says why it cannot be read."""
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(f"cannot read the template {path}: {reason}") from error
