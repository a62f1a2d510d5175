"""The `paths` of an OpenAPI v3 document for any resource, built-in or custom, in the shape kube-apiserver gives them.

Clients read more than schemas from it: kubectl finds a kind by its path (`explain`), asks whether PATCH knows `dryRun`
and `fieldValidation`, and whether it takes a strategic merge (`apply`). Long-lived streams (`exec`, `log`, `proxy`) and
the deprecated `/watch` paths are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kapstan.apiserver.builtin.facts import Resource, Subresource

__all__ = ("group_version_paths", "resource_paths", "schema_reference")

SchemaName = Callable[[str, str, str], str | None]
"""(group, version, kind) → the name of its component schema."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_STREAMS = frozenset(("attach", "exec", "log", "portforward", "proxy"))
_PRODUCED = ("application/json", "application/yaml")
_WATCHED = ("application/json", "application/json;stream=watch", "application/yaml")
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"

_SELECTION = (
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
)
_LIST = (*_SELECTION, "allowWatchBookmarks", "watch")
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_DELETE = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)
_PARAMETER_TYPES = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_REASONS = {200: "OK", 201: "Created", 202: "Accepted", 401: "Unauthorized"}


def group_version_paths(
    group: str, version: str, resources: Iterable[Resource], schema_name: SchemaName
) -> dict[str, Any]:
    """The paths of a built-in group-version: its own, which answers discovery, and those of its resources."""
    writer = _Writer(group, version, schema_name)
    paths = {f"{writer.root}/": {"get": writer.discovery()}}
    for resource in resources:
        paths |= writer.paths(resource)
    return dict(sorted(paths.items()))


def resource_paths(
    group: str, version: str, resource: Resource, schema_name: SchemaName, *, custom: bool = False
) -> dict[str, Any]:
    """The paths of one resource. Custom resources differ: no strategic merge, fewer answers, explicit body types."""
    writer = (_CustomWriter if custom else _Writer)(group, version, schema_name)
    return writer.paths(resource)


def schema_reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


class _Writer:
    """Writes the operations of one group-version."""

    patches: tuple[str, ...] = (*_PATCHES, _STRATEGIC)
    watched: tuple[str, ...] = _WATCHED
    bodies: tuple[str, ...] = ("*/*",)
    get: tuple[str, ...] = ()
    delete_collection: tuple[str, ...] = (*_SELECTION, *_DELETE)
    patch_codes: tuple[int, ...] = (200, 201)

    def __init__(self, group: str, version: str, schema_name: SchemaName) -> None:
        self.group, self.version, self.schema_name = group, version, schema_name
        self.root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        owner = group.removesuffix(".k8s.io") or "core"
        self.tag = f"{_identifier(owner, capital=False)}_{version}"
        self.infix = _identifier(owner, capital=True) + _identifier(version, capital=True)

    def discovery(self) -> dict[str, Any]:
        operation = {"operationId": f"get{self.infix}APIResources", "tags": [self.tag]}
        return operation | {"responses": _responses((200,), _PRODUCED, _META + "APIResourceList")}

    def paths(self, resource: Resource) -> dict[str, Any]:
        scope = "/namespaces/{namespace}" if resource.namespaced else ""
        collection = f"{self.root}{scope}/{resource.name}"
        paths = {collection: self.collection(resource), f"{collection}/{{name}}": self.item(resource)}
        if resource.namespaced and "list" in resource.verbs:
            across = {"get": self.list(resource, across=True)}
            paths[f"{self.root}/{resource.name}"] = across
        for subresource in resource.subresources:
            if subresource.name not in _STREAMS:
                paths[f"{collection}/{{name}}/{subresource.name}"] = self.below(resource, subresource)
        return {path: _hoisted(path, operations) for path, operations in paths.items() if operations}

    def collection(self, resource: Resource) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if "list" in resource.verbs:
            found["get"] = self.list(resource)
        if "create" in resource.verbs:
            found["post"] = self.write("post", "create", resource, (200, 201, 202))
        if "deletecollection" in resource.verbs:
            found["delete"] = self.remove_collection(resource)
        return found

    def item(self, resource: Resource) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if "get" in resource.verbs:
            found["get"] = self.operation("get", "read", resource, self.get)
        if "update" in resource.verbs:
            found["put"] = self.write("put", "replace", resource, (200, 201))
        if "patch" in resource.verbs:
            found["patch"] = self.patch(resource)
        if "delete" in resource.verbs:
            found["delete"] = self.remove(resource)
        return found

    def below(self, resource: Resource, sub: Subresource) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if "get" in sub.verbs:
            found["get"] = self.operation("get", "read", resource, self.get, sub=sub)
        if "create" in sub.verbs:
            found["post"] = self.write("post", "create", resource, (200, 201, 202), sub)
        if "update" in sub.verbs:
            found["put"] = self.write("put", "replace", resource, (200, 201), sub)
        if "patch" in sub.verbs:
            found["patch"] = self.patch(resource, sub)
        return found

    def list(self, resource: Resource, across: bool = False) -> dict[str, Any]:
        answer = self.schema(self.group, self.version, resource.list_kind or f"{resource.kind}List")
        operation = self.operation("list", "list", resource, _LIST, answer=answer, produced=self.watched)
        if across:
            operation["operationId"] = f"list{self.infix}{resource.kind}ForAllNamespaces"
        return operation

    def write(
        self, action: str, verb: str, resource: Resource, codes: tuple[int, ...], sub: Subresource | None = None
    ) -> dict[str, Any]:
        operation = self.operation(action, verb, resource, _WRITE, codes=codes, sub=sub)
        return operation | {"requestBody": _body(self.bodies, self.kind_schema(resource, sub))}

    def patch(self, resource: Resource, sub: Subresource | None = None) -> dict[str, Any]:
        operation = self.operation("patch", "patch", resource, (*_WRITE, "force"), codes=self.patch_codes, sub=sub)
        return operation | {"requestBody": _body(self.patches, _META + "Patch")}

    def remove(self, resource: Resource) -> dict[str, Any]:
        answer = self.kind_schema(resource) if resource.returns_deleted else _META + "Status"
        operation = self.operation("delete", "delete", resource, _DELETE, codes=(200, 202), answer=answer)
        return operation | {"requestBody": _body(self.bodies, _META + "DeleteOptions", required=False)}

    def remove_collection(self, resource: Resource) -> dict[str, Any]:
        parameters = self.delete_collection
        operation = self.operation("deletecollection", "delete", resource, parameters, answer=_META + "Status")
        operation["operationId"] = f"delete{self.infix}Collection{_scoped(resource)}"
        return operation | {"requestBody": _body(self.bodies, _META + "DeleteOptions", required=False)}

    def operation(
        self,
        action: str,
        verb: str,
        resource: Resource,
        parameters: tuple[str, ...],
        *,
        codes: tuple[int, ...] = (200,),
        answer: str = "",
        produced: tuple[str, ...] = _PRODUCED,
        sub: Subresource | None = None,
    ) -> dict[str, Any]:
        group, version, kind = self.kind(resource, sub)
        return {
            "operationId": f"{verb}{self.infix}{_scoped(resource)}{sub.name.capitalize() if sub else ''}",
            "parameters": [*parameters, "pretty"],
            "responses": _responses(codes, produced, answer or self.kind_schema(resource, sub)),
            "tags": [self.tag],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
        }

    def kind(self, resource: Resource, sub: Subresource | None = None) -> tuple[str, str, str]:
        """The kind that an operation is published under."""
        return self.kind_of_body(resource, sub)

    def kind_of_body(self, resource: Resource, sub: Subresource | None) -> tuple[str, str, str]:
        if sub is None:
            return self.group, self.version, resource.kind
        return (sub.group, sub.version, sub.kind) if sub.version else (self.group, self.version, sub.kind)

    def kind_schema(self, resource: Resource, sub: Subresource | None = None) -> str:
        return self.schema(*self.kind_of_body(resource, sub))

    def schema(self, group: str, version: str, kind: str) -> str:
        name = self.schema_name(group, version, kind)
        if name is None:
            raise ValueError(
                f"no schema is known for kind {kind} of {group or 'core'}/{version}, which a path refers to"
            )
        return name


class _CustomWriter(_Writer):
    """Custom resources, as kube-apiserver publishes them from a CustomResourceDefinition."""

    patches = _PATCHES
    watched = _PRODUCED
    bodies = _PRODUCED
    get = ("resourceVersion",)
    delete_collection = _LIST
    patch_codes = (200,)

    def kind(self, resource: Resource, sub: Subresource | None = None) -> tuple[str, str, str]:
        return self.group, self.version, resource.kind

    def remove_collection(self, resource: Resource) -> dict[str, Any]:
        operation = super().remove_collection(resource)
        del operation["requestBody"]
        return operation


def _scoped(resource: Resource) -> str:
    return f"Namespaced{resource.kind}" if resource.namespaced else resource.kind


def _hoisted(path: str, operations: Mapping[str, Any]) -> dict[str, Any]:
    """The path with its parameters: those that all its operations share stand once, beside them."""
    names = [set(operation["parameters"]) for operation in operations.values()]
    shared = set.intersection(*names)
    variables = {name for name in ("name", "namespace") if f"{{{name}}}" in path}
    item: dict[str, Any] = {"parameters": [_parameter(name, name in variables) for name in sorted(shared | variables)]}
    for (method, operation), named in zip(operations.items(), names, strict=True):
        own = [_parameter(name, False) for name in sorted(named - shared)]
        item[method] = {key: value for key, value in operation.items() if key != "parameters"}
        if own:
            item[method]["parameters"] = own
    return item


def _parameter(name: str, in_path: bool) -> dict[str, Any]:
    schema = {"type": _PARAMETER_TYPES.get(name, "string"), "uniqueItems": True}
    if in_path:
        return {"name": name, "in": "path", "required": True, "schema": schema}
    return {"name": name, "in": "query", "schema": schema}


def _body(types: tuple[str, ...], name: str, *, required: bool = True) -> dict[str, Any]:
    body: dict[str, Any] = {"content": {type: {"schema": schema_reference(name)} for type in types}}
    return body | {"required": True} if required else body


def _responses(codes: tuple[int, ...], types: tuple[str, ...], name: str) -> dict[str, Any]:
    content = {type: {"schema": schema_reference(name)} for type in types}
    answers: dict[str, Any] = {str(code): {"description": _REASONS[code], "content": content} for code in codes}
    return answers | {"401": {"description": _REASONS[401]}}


def _identifier(text: str, *, capital: bool) -> str:
    """Camel case of a dotted name: `rbac.authorization` → `RbacAuthorization`."""
    parts = [part for part in text.replace("-", ".").split(".") if part]
    joined = "".join(part[:1].upper() + part[1:] for part in parts)
    return joined if capital else joined[:1].lower() + joined[1:]
