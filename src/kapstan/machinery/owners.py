"""Owner references and finalizers: pure edits of an object's metadata. Each says whether it changed anything."""

from __future__ import annotations

from kapstan.machinery.gvk import GroupVersion
from kapstan.machinery.meta import ObjectMeta, OwnerReference
from kapstan.machinery.model import Resource

__all__ = (
    "AlreadyOwned",
    "add_finalizer",
    "has_finalizer",
    "has_owner",
    "owner_reference",
    "remove_finalizer",
    "remove_owner",
    "set_controller",
    "set_owner",
)


class AlreadyOwned(ValueError):
    """Another controller manages the object; it is never taken over."""


def owner_reference(owner: Resource, *, controller: bool = False, block: bool | None = None) -> OwnerReference:
    """A reference to `owner`. A controller's blocks the owner's foreground deletion unless told otherwise."""
    if not owner.metadata.uid:
        raise ValueError(f"{owner} has no uid: only an object that the API server knows can own another")
    blocks = controller if block is None else block
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True if controller else None,
        block_owner_deletion=True if blocks else None,
    )


def set_controller(owner: Resource, obj: Resource, *, block: bool = True) -> bool:
    """Make `owner` the managing owner of `obj`; AlreadyOwned if another controller is."""
    current = obj.controller_ref()
    if current is not None and current.uid != owner.metadata.uid:
        raise AlreadyOwned(f"{obj} is already controlled by {current.kind} {current.name!r}")
    return _upsert(owner, obj, owner_reference(owner, controller=True, block=block))


def set_owner(owner: Resource, obj: Resource, *, block: bool = False) -> bool:
    """Make `owner` one of the owners of `obj`."""
    return _upsert(owner, obj, owner_reference(owner, block=block))


def remove_owner(owner: Resource, obj: Resource) -> bool:
    references = obj.metadata.owner_references
    kept = [ref for ref in references if not _refers(ref, owner)]
    obj.metadata.owner_references = kept
    return len(kept) != len(references)


def has_owner(owner: Resource, obj: Resource) -> bool:
    return any(_refers(ref, owner) for ref in obj.metadata.owner_references)


def add_finalizer(obj: Resource, finalizer: str) -> bool:
    if finalizer in obj.metadata.finalizers:
        return False
    obj.metadata.finalizers = [*obj.metadata.finalizers, finalizer]
    return True


def remove_finalizer(obj: Resource, finalizer: str) -> bool:
    if finalizer not in obj.metadata.finalizers:
        return False
    obj.metadata.finalizers = [name for name in obj.metadata.finalizers if name != finalizer]
    return True


def has_finalizer(obj: Resource, finalizer: str) -> bool:
    return finalizer in obj.metadata.finalizers


def _upsert(owner: Resource, obj: Resource, reference: OwnerReference) -> bool:
    _check_namespaces(owner.metadata, obj)
    references = list(obj.metadata.owner_references)
    for index, current in enumerate(references):
        if _refers(current, owner):
            if current == reference:
                return False
            references[index] = reference
            break
    else:
        references.append(reference)
    obj.metadata.owner_references = references
    return True


def _check_namespaces(owner: ObjectMeta, obj: Resource) -> None:
    if owner.namespace and owner.namespace != obj.metadata.namespace:
        place = f"namespace {obj.metadata.namespace!r}" if obj.metadata.namespace else "cluster scope"
        raise ValueError(
            f"an owner in namespace {owner.namespace!r} cannot own {obj} in {place}: owners are in the same namespace"
        )


def _refers(ref: OwnerReference, owner: Resource) -> bool:
    """The same object, whichever version of its group the reference was written with."""
    if ref.uid and owner.metadata.uid:
        return ref.uid == owner.metadata.uid
    same_group = GroupVersion.parse(ref.api_version).group == owner.gvk.group
    return same_group and ref.kind == owner.kind and ref.name == owner.metadata.name
