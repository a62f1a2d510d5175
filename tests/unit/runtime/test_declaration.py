"""Declarations on reconcilers: data for managers and generators."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kapstan.client.interface import metadata_of
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.machinery.model import Resource
from kapstan.machinery.scheme import resource
from kapstan.runtime.declaration import Owned, controller, declared_watches, rbac, watches
from kapstan.runtime.predicate import generation_changed
from kapstan.runtime.reconcile import Reconciler, Request

CHILD = GroupVersionKind("apps", "v1", "Deployment")


@resource(group="declare.kapstan.dev", version="v1")
class Parent(Resource):
    pass


@controller(
    Parent,
    owns=[CHILD, metadata_of(CHILD), Owned(CHILD, every_owner=True)],
    when=generation_changed,
    max_concurrent_reconciles=4,
)
@rbac("apps", "deployments;replicasets", verbs="get;list;watch")
@rbac("", ["pods"], verbs=["get"], resource_names=["x"])
@rbac(urls="/metrics", verbs="get")
class ParentReconciler(Reconciler[Parent]):
    async def reconcile(self, parent: Parent) -> None: ...

    @watches(CHILD, when=generation_changed)
    def parents_of(self, child: dict[str, object]) -> Iterable[Request]:
        return [ObjectKey("ns", "p")]


def test_the_controller_is_declared_as_data() -> None:
    declared = ParentReconciler.__controller__
    assert declared is not None
    assert (declared.kind, declared.name, declared.finalizer) == (Parent, "parent", "declare.kapstan.dev/finalizer")
    assert [one.every_owner for one in declared.owns] == [False, False, True]
    assert declared.options.max_concurrent_reconciles == 4
    assert declared.when is generation_changed


def test_permissions_are_declared_as_data_in_the_order_of_reading() -> None:
    first, second, third = ParentReconciler.__rbac__
    assert (first.groups, first.resources, first.verbs) == (
        ("apps",),
        ("deployments", "replicasets"),
        ("get", "list", "watch"),
    )
    assert (second.groups, second.resources, second.resource_names) == (("",), ("pods",), ("x",))
    assert (third.urls, third.resources) == (("/metrics",), ())


def test_methods_declare_watches() -> None:
    (watched,) = declared_watches(ParentReconciler())
    assert (watched.kind, watched.when) == (CHILD, generation_changed)


def test_a_class_knows_what_it_reconciles() -> None:
    class ByKey(Reconciler[Request]):
        pass

    class Inherited(ParentReconciler):
        async def finalize(self, parent: Parent) -> None: ...

    assert ByKey.asked_by_key() and not ParentReconciler.asked_by_key()
    assert Inherited.subject() is Parent
    assert Inherited.finalizes() and not ParentReconciler.finalizes()


def test_two_controllers_of_a_kind_have_two_finalizers() -> None:
    @controller(Parent, name="second")
    class Second(Reconciler[Parent]):
        pass

    assert Second.__controller__ is not None
    assert Second.__controller__.finalizer == "declare.kapstan.dev/second-finalizer"


def test_what_is_not_there_yet_is_said() -> None:
    with pytest.raises(AttributeError, match=r"ParentReconciler\.client is there once the reconciler is added"):
        _ = ParentReconciler().client
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ParentReconciler().nonsense


def test_nonsense_is_refused_where_it_is_written() -> None:
    with pytest.raises(ValueError, match="resources or about urls"):
        rbac("apps", "deployments", urls="/x", verbs="get")
    with pytest.raises(ValueError, match="at least 1"):
        controller(Parent, max_concurrent_reconciles=0)
