"""The pure parts: paths, queries, what is applied, what is exported."""

from __future__ import annotations

import importlib
import inspect
import os
import runpy
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

import kapstan.client
from kapstan import k8s
from kapstan.client import Client, Clientset, Config, Patch
from kapstan.client.applying import apply_body
from kapstan.client.clientset import Creatable, generated
from kapstan.client.mapping import Mapping
from kapstan.client.options import field_selector, label_selector, list_query, query, watch_query
from kapstan.k8s import core_v1 as core
from kapstan.k8s import rbac_v1 as rbac
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.meta import ManagedFieldsEntry, ObjectMeta, now

ROOT = Path(__file__).parents[3]


def test_paths() -> None:
    pods, roles = Mapping.of(core.Pod), Mapping.of(rbac.ClusterRole)
    assert pods.collection() == "/api/v1/pods"
    assert pods.collection("n") == "/api/v1/namespaces/n/pods"
    assert pods.object("n", "p", "log") == "/api/v1/namespaces/n/pods/p/log"
    assert roles.collection("ignored") == "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    assert roles.object("", "system:node") == "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"
    assert roles.object("", "ä b") == "/apis/rbac.authorization.k8s.io/v1/clusterroles/%C3%A4%20b"


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a%2fb", "../secrets/x"])
def test_a_name_cannot_lead_elsewhere(name: str) -> None:
    with pytest.raises(BadRequest):
        Mapping.of(core.Pod).object("n", name)
    with pytest.raises(BadRequest):
        Mapping.of(core.Pod).object(name, "p")


def test_queries_say_only_what_is_said() -> None:
    assert query(a="", b=None, c=False, d=True, e=0, f="x y") == "?d=true&e=0&f=x+y"
    assert query() == ""
    assert list_query({}) == ""
    assert (
        list_query({"labels": {"a": "b"}, "limit": 5, "continue_token": "t"})
        == "?labelSelector=a%3Db&limit=5&continue=t"
    )
    assert watch_query({}) == "?watch=true"
    assert watch_query({"timeout": 1.2, "bookmarks": True}) == "?watch=true&timeoutSeconds=2&allowWatchBookmarks=true"


def test_selectors() -> None:
    assert label_selector("a in (b)") == "a in (b)"
    assert label_selector({"a": "b", "c": ""}) == "a=b,c="
    assert field_selector({"metadata.name": "x", "spec.x": "a,b=c"}) == "metadata.name=x,spec.x=a\\,b\\=c"


def test_only_what_the_author_says_is_applied() -> None:
    metadata = ObjectMeta(
        name="web",
        namespace="n",
        uid="u",
        resource_version="7",
        generation=3,
        creation_timestamp=now(),
        deletion_timestamp=now(),
        labels={"a": "b"},
        managed_fields=[ManagedFieldsEntry(manager="x")],
    )
    assert apply_body(core.Node(metadata=metadata)) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "web", "namespace": "n", "labels": {"a": "b"}},
    }


def test_a_dictionary_is_applied_without_being_changed() -> None:
    thing: dict[str, Any] = {
        "apiVersion": "example.org/v1",
        "kind": "Thing",
        "metadata": {"name": "t", "resourceVersion": "1", "managedFields": []},
        "spec": {"list": [], "empty": {}},
        "status": {"ready": True},
    }
    before = repr(thing)
    body = apply_body(thing)
    assert body["metadata"] == {"name": "t"}
    assert body["spec"] == {"list": [], "empty": {}}  # what is empty inside is meant to be so
    assert repr(thing) == before
    assert apply_body(thing, subresource="status") == {
        "apiVersion": "example.org/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "status": {"ready": True},
    }


def test_a_lock_needs_a_version() -> None:
    new = core.ConfigMap(metadata=ObjectMeta(name="a"))
    with pytest.raises(ValueError, match="optimistic_lock needs an object that was read"):
        Patch.diff(new, new.replace(data={"x": "y"}), optimistic_lock=True)


def test_everything_that_is_exported_is_there() -> None:
    for name in kapstan.client.__all__:
        assert getattr(kapstan.client, name) is not None
    assert set(kapstan.client.__all__) <= set(dir(kapstan.client))
    assert set(kapstan.client._MODULE_OF) == set(kapstan.client.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        kapstan.client.nothing  # noqa: B018


def test_every_module_says_what_it_exports() -> None:
    folder = Path(kapstan.client.__file__).parent
    for path in folder.rglob("*.py"):
        name = ".".join(("kapstan.client", *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        module = importlib.import_module(name)
        assert isinstance(module.__all__, tuple), name
        assert module.__doc__, name


def test_importing_the_package_loads_no_http() -> None:
    """A controller's types import the interface; only whoever connects pays for connecting."""
    program = "import sys, kapstan.client.interface; sys.exit('pyreqwest' in sys.modules or 'asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_clientset_is_up_to_date() -> None:
    tool = runpy.run_path(str(ROOT / "tools/clientset/generate.py"))
    assert generated.__file__ is not None
    assert Path(generated.__file__).read_text() == tool["formatted"](tool["source"]())


def test_each_attribute_of_the_clientset_is_the_kind_that_it_says() -> None:
    clientset = Clientset(Client(Config(server="https://127.0.0.1:1")))
    namespace = {name: getattr(k8s, name) for name in k8s.__all__} | vars(generated)
    seen: set[GroupVersionKind] = set()
    for module in k8s.__all__:
        group = getattr(clientset, module, None)
        if group is None:
            continue
        for name, method in inspect.getmembers(group, inspect.ismethod):
            if name.startswith("_"):
                continue
            collection = method()
            (declared,) = typing.get_args(typing.get_type_hints(method, namespace)["return"])
            assert isinstance(collection, Creatable)
            assert collection._kind is declared
            assert collection._kind.__resource__.plural == name.replace("_", "")
            seen.add(declared.__resource__.gvk)
    assert len(seen) > 60
    assert isinstance(clientset.of(core.Pod), type(clientset.core_v1.pods()))


def test_the_allocator_is_told_to_give_memory_back_before_it_is_loaded() -> None:
    code = (
        "import os, sys, kapstan.client; assert 'pyreqwest' not in sys.modules;"
        "print(os.environ['MIMALLOC_ARENA_EAGER_COMMIT'], os.environ['MIMALLOC_PURGE_DELAY'])"
    )
    environment = {**os.environ, "MIMALLOC_PURGE_DELAY": "7"}
    environment.pop("MIMALLOC_ARENA_EAGER_COMMIT", None)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert said.stdout.split() == ["0", "7"], "what the operator of the process says, counts"
