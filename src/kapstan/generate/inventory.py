"""Inventory: everything that a package declares, found by importing all of its modules."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct

from kapstan.generate.errors import GenerateError
from kapstan.machinery.model import Resource, ResourceInfo, resource_info
from kapstan.runtime.reconcile import Reconciler, kind_of
from kapstan.runtime.webhook.declaration import Admission, Conversion

__all__ = ("Inventory", "importable", "take_inventory")


class Inventory(Struct, frozen=True, kw_only=True):
    """What there is to generate from, in the order of modules and, within one, of the source."""

    kinds: tuple[type[Resource], ...] = ()
    reconcilers: tuple[type, ...] = ()  # and other classes that say what they may do
    admissions: tuple[Admission, ...] = ()
    conversions: tuple[Conversion, ...] = ()

    @property
    def infos(self) -> list[ResourceInfo]:
        return [resource_info(kind) for kind in self.kinds]


def take_inventory(*packages: str) -> Inventory:
    """Import packages with all of their modules, and give what they declare. GenerateError if that fails."""
    values = [value for package in packages for module in _modules(package) for value in _own(module)]
    webhooks = [getattr(value, "__webhook__", None) for value in values]
    return Inventory(
        kinds=tuple(value for value in values if _is_kind(value)),
        reconcilers=tuple(value for value in values if _declares_rules(value)),
        admissions=tuple(one for one in webhooks if isinstance(one, Admission)),
        conversions=tuple(one for one in webhooks if isinstance(one, Conversion)),
    )


def importable(folder: Path) -> None:
    """Have packages of a folder found before installed ones of the same name."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _modules(package: str) -> Iterator[ModuleType]:
    top = _import(package)
    yield top
    for info in pkgutil.walk_packages(getattr(top, "__path__", ()), f"{package}."):
        if not info.name.endswith(".__main__"):
            yield _import(info.name)


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name or name.startswith(f"{error.name}."):
            raise GenerateError(
                f"there is no package {name!r}: it must be installed, or in ./src or the current folder"
            ) from error
        raise GenerateError(_place(error)) from error
    except Exception as error:
        raise GenerateError(_place(error)) from error


def _place(error: Exception) -> str:
    """Where somebody's code has failed, and how."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {error.msg}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}"


def _own(module: ModuleType) -> Iterator[Any]:
    """What the module defines itself; what it has imported is found where it is defined."""
    for value in vars(module).values():
        if getattr(value, "__module__", None) == module.__name__:
            yield value


def _is_kind(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Resource) and "__resource__" in vars(value)


def _declares_rules(value: Any) -> bool:
    if not isinstance(value, type):
        return False
    if getattr(value, "__rbac__", ()):
        return True
    return issubclass(value, Reconciler) and (value.__controller__ is not None or kind_of(value) is not None)
