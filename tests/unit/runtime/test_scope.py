"""Scopes of single kinds, and the namespaces that a manager looks after."""

from __future__ import annotations

import pytest

from kapstan.client import Client, Config
from kapstan.k8s.core_v1 import ConfigMap, Secret
from kapstan.runtime.factory import InformerFactory
from kapstan.runtime.scope import ALL_NAMESPACES, Scope


@pytest.mark.parametrize(
    ("of_kind", "namespaces"),
    [
        pytest.param(Scope(labels="a"), ("one", "two"), id="those of the manager"),
        pytest.param(Scope(labels="a", namespaces=("three",)), ("three",), id="its own"),
        pytest.param(Scope(labels="a", namespaces=ALL_NAMESPACES), (), id="all"),
    ],
)
async def test_a_kind_is_cached_where_the_manager_works_unless_it_says_otherwise(
    of_kind: Scope, namespaces: tuple[str, ...]
) -> None:
    """Objects of other namespaces would only wake controllers that cannot read them."""
    async with Client(Config(server="http://127.0.0.1:1")) as client:
        informers = InformerFactory(client, scope=Scope(namespaces=("one", "two")), scopes={Secret: of_kind})
        found = informers.shared(Secret).scope
        assert (found.namespaces, found.labels) == (namespaces, "a")
        assert informers.shared(ConfigMap).scope == Scope(namespaces=("one", "two"))
