"""The built-in kinds of Kubernetes as the embedded server serves them: discovery, schemas, OpenAPI documents."""

from kapstan.apiserver.builtin.custom import custom_definition_name, custom_schemas, schema_name
from kapstan.apiserver.builtin.facts import (
    GroupVersion,
    Resource,
    Subresource,
    definition_name,
    definitions,
    group_version,
    group_versions,
    kubernetes_version,
    resources,
)
from kapstan.apiserver.builtin.openapi import document, openapi
from kapstan.apiserver.builtin.operations import group_version_paths, resource_paths
from kapstan.apiserver.builtin.swagger import custom_definitions, path_item, swagger
from kapstan.apiserver.builtin.swaggerproto import encode_swagger

__all__ = (
    "GroupVersion",
    "Resource",
    "Subresource",
    "custom_definition_name",
    "custom_definitions",
    "custom_schemas",
    "definition_name",
    "definitions",
    "document",
    "encode_swagger",
    "group_version",
    "group_version_paths",
    "group_versions",
    "kubernetes_version",
    "openapi",
    "path_item",
    "resource_paths",
    "resources",
    "schema_name",
    "swagger",
)
