"""Owner references and finalizers."""

import pytest

from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.machinery.owners import (
    AlreadyOwned,
    add_finalizer,
    has_finalizer,
    has_owner,
    remove_finalizer,
    remove_owner,
    set_controller,
    set_owner,
)


def an_object(name: str, uid: str = "", namespace: str = "ns") -> Resource:
    return Resource(api_version="v1", kind="Thing", metadata=ObjectMeta(name=name, uid=uid, namespace=namespace))


def test_a_controller_is_set_once() -> None:
    owner, child = an_object("owner", "u1"), an_object("child")
    assert set_controller(owner, child)
    assert not set_controller(owner, child)
    assert child.is_controlled_by(owner)
    assert child.metadata.owner_references[0].block_owner_deletion is True


def test_another_controller_is_never_replaced() -> None:
    child = an_object("child")
    set_controller(an_object("first", "u1"), child)
    with pytest.raises(AlreadyOwned, match="already controlled by Thing 'first'"):
        set_controller(an_object("second", "u2"), child)


def test_several_owners_may_stand_beside_the_controller() -> None:
    first, second, child = an_object("first", "u1"), an_object("second", "u2"), an_object("child")
    set_controller(first, child)
    assert set_owner(second, child)
    assert has_owner(second, child)
    assert remove_owner(second, child)
    assert child.is_controlled_by(first)


def test_an_owner_that_the_server_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="has no uid"):
        set_owner(an_object("owner"), an_object("child"))


def test_an_owner_of_another_namespace_is_refused() -> None:
    with pytest.raises(ValueError, match="same namespace"):
        set_owner(an_object("owner", "u1", "elsewhere"), an_object("child"))


def test_finalizers_are_added_and_removed_once() -> None:
    obj = an_object("a")
    assert add_finalizer(obj, "x/y")
    assert not add_finalizer(obj, "x/y")
    assert has_finalizer(obj, "x/y")
    assert remove_finalizer(obj, "x/y")
    assert not remove_finalizer(obj, "x/y")
