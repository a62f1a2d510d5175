"""Cluster API in Python, and the operator SDK it is built with.

    from kapstan import Manager, Reconciler, Resource, Result, controller, resource

Each name is imported from its module when it is first used: `import kapstan` alone costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapstan.version import __version__ as __version__

if TYPE_CHECKING:
    from kapstan.client.client import Client as Client
    from kapstan.client.config import Config as Config
    from kapstan.client.interface import Patch as Patch
    from kapstan.client.interface import metadata_of as metadata_of
    from kapstan.machinery.base import Model as Model
    from kapstan.machinery.errors import AlreadyExists as AlreadyExists
    from kapstan.machinery.errors import Conflict as Conflict
    from kapstan.machinery.errors import Forbidden as Forbidden
    from kapstan.machinery.errors import Invalid as Invalid
    from kapstan.machinery.errors import KapstanError as KapstanError
    from kapstan.machinery.errors import NotFound as NotFound
    from kapstan.machinery.gvk import GroupVersion as GroupVersion
    from kapstan.machinery.gvk import GroupVersionKind as GroupVersionKind
    from kapstan.machinery.gvk import ObjectKey as ObjectKey
    from kapstan.machinery.markers import CEL as CEL
    from kapstan.machinery.markers import Default as Default
    from kapstan.machinery.markers import Embedded as Embedded
    from kapstan.machinery.markers import Format as Format
    from kapstan.machinery.markers import Immutable as Immutable
    from kapstan.machinery.markers import ListAtomic as ListAtomic
    from kapstan.machinery.markers import ListMap as ListMap
    from kapstan.machinery.markers import ListSet as ListSet
    from kapstan.machinery.markers import MapAtomic as MapAtomic
    from kapstan.machinery.markers import Nullable as Nullable
    from kapstan.machinery.markers import PreserveUnknown as PreserveUnknown
    from kapstan.machinery.markers import StructAtomic as StructAtomic
    from kapstan.machinery.meta import Condition as Condition
    from kapstan.machinery.meta import Duration as Duration
    from kapstan.machinery.meta import Int32 as Int32
    from kapstan.machinery.meta import Int64 as Int64
    from kapstan.machinery.meta import IntOrString as IntOrString
    from kapstan.machinery.meta import LabelSelector as LabelSelector
    from kapstan.machinery.meta import ObjectMeta as ObjectMeta
    from kapstan.machinery.meta import OwnerReference as OwnerReference
    from kapstan.machinery.meta import Quantity as Quantity
    from kapstan.machinery.meta import Time as Time
    from kapstan.machinery.model import Column as Column
    from kapstan.machinery.model import Resource as Resource
    from kapstan.machinery.model import Scale as Scale
    from kapstan.machinery.scheme import resource as resource
    from kapstan.runtime.builder import new_controller_managed_by as new_controller_managed_by
    from kapstan.runtime.cachedclient import CachedClient as CachedClient
    from kapstan.runtime.cluster import Cluster as Cluster
    from kapstan.runtime.declaration import Owned as Owned
    from kapstan.runtime.declaration import Watched as Watched
    from kapstan.runtime.declaration import controller as controller
    from kapstan.runtime.declaration import rbac as rbac
    from kapstan.runtime.declaration import watches as watches
    from kapstan.runtime.factory import InformerFactory as InformerFactory
    from kapstan.runtime.handler import enqueue_object as enqueue_object
    from kapstan.runtime.handler import enqueue_owner as enqueue_owner
    from kapstan.runtime.handler import map_to as map_to
    from kapstan.runtime.manager import Manager as Manager
    from kapstan.runtime.options import ManagerOptions as ManagerOptions
    from kapstan.runtime.predicate import Predicate as Predicate
    from kapstan.runtime.predicate import annotation_changed as annotation_changed
    from kapstan.runtime.predicate import generation_changed as generation_changed
    from kapstan.runtime.predicate import label_changed as label_changed
    from kapstan.runtime.predicate import labels_match as labels_match
    from kapstan.runtime.predicate import predicate as predicate
    from kapstan.runtime.predicate import resource_version_changed as resource_version_changed
    from kapstan.runtime.ratelimiter import bucket as bucket
    from kapstan.runtime.ratelimiter import exponential as exponential
    from kapstan.runtime.ratelimiter import max_of as max_of
    from kapstan.runtime.reconcile import Reconciler as Reconciler
    from kapstan.runtime.reconcile import Request as Request
    from kapstan.runtime.reconcile import Result as Result
    from kapstan.runtime.reconcile import TerminalError as TerminalError
    from kapstan.runtime.recorder import EventRecorder as EventRecorder
    from kapstan.runtime.scope import Scope as Scope
    from kapstan.runtime.source import Channel as Channel
    from kapstan.runtime.source import every as every
    from kapstan.runtime.webhook.authority import AuthorityOptions as AuthorityOptions
    from kapstan.runtime.webhook.declaration import convert as convert
    from kapstan.runtime.webhook.declaration import defaulter as defaulter
    from kapstan.runtime.webhook.declaration import raw_webhook as raw_webhook
    from kapstan.runtime.webhook.declaration import validator as validator
    from kapstan.runtime.workqueue import WorkQueue as WorkQueue


_NAMES = {
    "kapstan.client.client": ("Client",),
    "kapstan.client.config": ("Config",),
    "kapstan.client.interface": ("Patch", "metadata_of"),
    "kapstan.machinery.base": ("Model",),
    "kapstan.machinery.errors": ("AlreadyExists", "Conflict", "Forbidden", "Invalid", "KapstanError", "NotFound"),
    "kapstan.machinery.gvk": ("GroupVersion", "GroupVersionKind", "ObjectKey"),
    "kapstan.machinery.markers": (
        "CEL",
        "Default",
        "Embedded",
        "Format",
        "Immutable",
        "ListAtomic",
        "ListMap",
        "ListSet",
        "MapAtomic",
        "Nullable",
        "PreserveUnknown",
        "StructAtomic",
    ),
    "kapstan.machinery.meta": (
        "Condition",
        "Duration",
        "Int32",
        "Int64",
        "IntOrString",
        "LabelSelector",
        "ObjectMeta",
        "OwnerReference",
        "Quantity",
        "Time",
    ),
    "kapstan.machinery.model": ("Column", "Resource", "Scale"),
    "kapstan.machinery.scheme": ("resource",),
    "kapstan.runtime.builder": ("new_controller_managed_by",),
    "kapstan.runtime.cachedclient": ("CachedClient",),
    "kapstan.runtime.cluster": ("Cluster",),
    "kapstan.runtime.declaration": ("Owned", "Watched", "controller", "rbac", "watches"),
    "kapstan.runtime.factory": ("InformerFactory",),
    "kapstan.runtime.handler": ("enqueue_object", "enqueue_owner", "map_to"),
    "kapstan.runtime.manager": ("Manager",),
    "kapstan.runtime.options": ("ManagerOptions",),
    "kapstan.runtime.predicate": (
        "Predicate",
        "annotation_changed",
        "generation_changed",
        "label_changed",
        "labels_match",
        "predicate",
        "resource_version_changed",
    ),
    "kapstan.runtime.ratelimiter": ("bucket", "exponential", "max_of"),
    "kapstan.runtime.reconcile": ("Reconciler", "Request", "Result", "TerminalError"),
    "kapstan.runtime.recorder": ("EventRecorder",),
    "kapstan.runtime.scope": ("Scope",),
    "kapstan.runtime.source": ("Channel", "every"),
    "kapstan.runtime.webhook.authority": ("AuthorityOptions",),
    "kapstan.runtime.webhook.declaration": ("convert", "defaulter", "raw_webhook", "validator"),
    "kapstan.runtime.workqueue": ("WorkQueue",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'kapstan' has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(module), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
