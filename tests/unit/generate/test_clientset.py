"""Clientset, informers and listers: modules that import, with an attribute for each kind."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from kapstan.client.clientset import Resources
from kapstan.generate.clientset import clientset_of
from kapstan.generate.errors import GenerateError
from kapstan.generate.inventory import importable, take_inventory

TYPES = """
    from kapstan.machinery.model import Resource
    from kapstan.machinery.scheme import resource

    @resource(group="cache.example.com", version="{version}", storage={storage})
    class Memcached(Resource): ...

    @resource(group="cache.example.com", version="{version}", plural="caches", storage={storage}, scope="Cluster")
    class CacheGroup(Resource): ...

    @resource(group="cache.example.com", version="{version}", storage={storage})
    class EvictionPolicy(Resource): ...
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with kinds of two versions; its name."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.split(".")[0] == "cached"]:
        monkeypatch.delitem(sys.modules, name)
    importable(tmp_path)
    folder = tmp_path / "cached"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "v1.py").write_text(dedent(TYPES.format(version="v1", storage=True)))
    (folder / "v1beta1.py").write_text(dedent(TYPES.format(version="v1beta1", storage=False)))
    return "cached"


def generated(package: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The namespaces of the generated modules."""
    modules: dict[str, dict[str, Any]] = {}
    for name, source in clientset_of(take_inventory(package).kinds).items():
        (folder / name).write_text(source)
        modules[name] = {"__name__": name}
        exec(compile(source, name, "exec"), modules[name])
    return modules


class Factory:
    """Remembers what it was asked for."""

    def __getitem__(self, kind: type) -> Any:
        class Informer:
            of = kind

            def lister(self, namespace: str = "") -> tuple[type, str]:
                return kind, namespace

        return Informer()


def test_each_kind_is_an_attribute_of_its_group_and_version(package: str, tmp_path: Path) -> None:
    modules = generated(package, tmp_path)
    from cached import v1, v1beta1  # type: ignore[import-not-found]

    clientset = modules["clientset.py"]["Clientset"](client=object())
    caches = clientset.cache_v1.caches()
    assert isinstance(caches, Resources)
    assert caches._kind is v1.CacheGroup
    assert clientset.cache_v1beta1.eviction_policies()._kind is v1beta1.EvictionPolicy
    informers = modules["informers.py"]["Informers"](Factory())
    assert informers.cache_v1beta1.memcacheds.of is v1beta1.Memcached
    listers = modules["listers.py"]["Listers"](Factory())
    assert listers.cache_v1.memcacheds("default") == (v1.Memcached, "default")
    assert listers.cache_v1.caches() == (v1.CacheGroup, "")


def test_a_package_without_kinds_is_refused() -> None:
    with pytest.raises(GenerateError, match="no kinds"):
        clientset_of([])
