"""Roles from reconcilers: what `@rbac` asks for, and what the declaration of a controller implies.

Implied is what the runtime itself does and nothing more:
- whatever is cached (for, owns, watches, reads) is listed and watched;
- the status subresource is patched; an object with a finalizer is patched to set and remove it;
- whoever owns others may set the owner reference that blocks the owner's deletion, which an admission plugin checks
  as an update of the finalizers subresource;
- events are created and, when they repeat, patched.

Writing to other objects is never implied: `@rbac("apps", "deployments", verbs="create;patch")` says it.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any, TypeAlias

from msgspec.structs import replace

from kapstan import k8s
from kapstan.client.interface import Kind
from kapstan.generate.kinds import known, resource_of
from kapstan.generate.rules import policy_rules
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.model import resource_info
from kapstan.machinery.scheme import SCHEME
from kapstan.runtime.declaration import ControllerDeclaration, Rule
from kapstan.runtime.reconcile import Reconciler, kind_of

__all__ = ("MANAGER_ROLE", "declared_rules", "implied_rules", "roles_of")

Document: TypeAlias = dict[str, Any]

MANAGER_ROLE = "manager-role"
_EVENTS = Rule(groups=("events.k8s.io",), resources=("events",), verbs=("create", "patch"))


def roles_of(
    declaring: Iterable[type], *, name: str = MANAGER_ROLE, namespaces: Collection[str] = ()
) -> list[Document]:
    """The roles that these classes need: a ClusterRole (always there), and a Role for each namespace that a rule names.

    With `namespaces` the manager works in those only: what would be in the ClusterRole is in a Role of each of them,
    but for what belongs to no namespace.
    """
    found: dict[tuple[str, str], list[Rule]] = {(namespace, name): [] for namespace in namespaces or ("",)}
    for cls in declaring:
        for rule in (*declared_rules(cls), *implied_rules(cls)):
            for part, place in _placed(rule, namespaces):
                found.setdefault((place, rule.role_name or name), []).append(part)
    return [_role(role, place, rules) for (place, role), rules in sorted(found.items())]


def declared_rules(cls: type) -> tuple[Rule, ...]:
    """What `@rbac` says, on the class or on one that it is derived from."""
    rules: tuple[Rule, ...] = getattr(cls, "__rbac__", ())
    return rules


def implied_rules(cls: type) -> list[Rule]:
    """What the runtime does in the name of a reconciler."""
    if not issubclass(cls, Reconciler):
        return []
    declaration = cls.__controller__
    kind = declaration.kind if declaration is not None else kind_of(cls)
    if kind is None:
        return [_EVENTS]
    own = resource_of(kind)
    rules = [_cached(one) for one in (kind, *_others(cls, declaration))]
    if _has_status(kind):
        rules.append(_rule(own, "status", "patch"))
    if cls.finalizes():
        rules.append(_rule(own, "", "patch"))
    if declaration is not None and declaration.owns:
        rules.append(_rule(own, "finalizers", "update"))
    return [*rules, _EVENTS]


def _others(cls: type[Reconciler[Any]], declaration: ControllerDeclaration | None) -> Iterator[Kind[Any]]:
    """The kinds that are cached beside the one that is reconciled."""
    if declaration is not None:
        yield from (owned.kind for owned in declaration.owns)
        yield from (watched.kind for watched in declaration.watches)
        yield from declaration.reads
    for attribute in sorted(dir(cls)):
        declared = getattr(getattr(cls, attribute, None), "__watch__", None)
        if declared is not None:
            yield declared[0]


def _cached(kind: Kind[Any]) -> Rule:
    return _rule(resource_of(kind), "", "list", "watch")


def _rule(resource: GroupResource, subresource: str, *verbs: str) -> Rule:
    name = f"{resource.resource}/{subresource}" if subresource else resource.resource
    return Rule(groups=(resource.group,), resources=(name,), verbs=verbs)


def _has_status(kind: Kind[Any]) -> bool:
    """A kind that is known by name only has one, as nearly every kind does."""
    info = known(kind)
    return info is None or "status" in info.subresources


def _placed(rule: Rule, namespaces: Collection[str]) -> Iterator[tuple[Rule, str]]:
    """The parts of a rule and the namespaces that they are for; empty: the cluster."""
    if rule.namespace or not namespaces:
        yield rule, rule.namespace
    elif rule.urls:
        yield rule, ""
    else:
        for resource in rule.resources:
            cluster_wide = any(_is_cluster_wide(group, resource) for group in rule.groups)
            part = replace(rule, resources=(resource,))
            yield from ((part, namespace) for namespace in ([""] if cluster_wide else namespaces))


def _is_cluster_wide(group: str, resource: str) -> bool:
    plural, _, _ = resource.partition("/")
    return GroupResource(group, plural) in _cluster_wide()


def _cluster_wide() -> set[GroupResource]:
    """What belongs to no namespace, of all kinds that have been imported and all that Kubernetes has itself."""
    for module in k8s.__all__:
        importlib.import_module(f"kapstan.k8s.{module}")
    infos = map(resource_info, SCHEME)
    return {info.gvr.group_resource for info in infos if not info.namespaced}


def _role(name: str, namespace: str, rules: Iterable[Rule]) -> Document:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": metadata,
        "rules": policy_rules(rules),
    }
