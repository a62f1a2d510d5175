"""Descriptions of what every object has, for `kubectl explain`. Those of built-in kinds are not part of the facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ("API_VERSION", "KIND", "METADATA", "described")

API_VERSION = "APIVersion defines which version of its schema an object is written in: group and version."
KIND = "Kind says what the object is, in CamelCase. It cannot be changed."
METADATA = "Standard object's metadata: its name, its labels, its owners, and what the server notes about it."

_FIELDS: Mapping[str, Mapping[str, str]] = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
        "annotations": "Annotations are values that tools keep with the object. They cannot be selected by.",
        "creationTimestamp": "CreationTimestamp is a timestamp of the object's creation, in UTC. The server sets it.",
        "deletionGracePeriodSeconds": "How long the object may take to end, from its deletion on.",
        "deletionTimestamp": "When the object will be gone, if its deletion has begun. The server sets it.",
        "finalizers": "Who has to agree before the object is removed from storage.",
        "generateName": "The beginning of a name that the server completes, where no name is given.",
        "generation": "A number that grows with every change of what is wanted.",
        "labels": "Labels sort objects into sets, and are what they are selected by.",
        "managedFields": "Which fields each manager has set, and when.",
        "name": "Name is what the object is called. There is one of that kind and name in its namespace.",
        "namespace": "Namespace is where the object's name is unique.",
        "ownerReferences": "The objects that this one depends on: without any of them it is garbage.",
        "resourceVersion": "The version of the object in storage, to be compared for equality or handed back only.",
        "selfLink": "Not set any more.",
        "uid": "UID tells the object from all others that ever had or will have its name. The server sets it.",
    },
}


def described(name: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of that name, with what there is to say about its fields."""
    texts = _FIELDS.get(name)
    if texts is None:
        return schema
    properties = {
        field: {"description": texts[field], **part} if field in texts else part
        for field, part in schema["properties"].items()
    }
    return {**schema, "properties": properties}
