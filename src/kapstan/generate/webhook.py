"""Webhook manifests from declared webhooks: the two configurations, and the conversion of CRDs.

What a declaration leaves at the API server's own default is left out, as controller-gen does.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec import Struct

from kapstan.client.interface import gvk_of
from kapstan.generate.kinds import resource_of
from kapstan.machinery.model import resource_info
from kapstan.runtime.webhook.declaration import Admission, Conversion

__all__ = ("CONVERSION_PATH", "ClientConfig", "conversion_patches", "crd_conversion", "webhook_configurations")

Document: TypeAlias = dict[str, Any]

CONVERSION_PATH = "/convert"
# The server's own defaults.
_DEFAULTS: Document = {"matchPolicy": "Equivalent", "reinvocationPolicy": "Never", "timeoutSeconds": 10}


class ClientConfig(Struct, frozen=True, kw_only=True):
    """How the API server reaches the webhooks: by a Service, or by the URL of a server outside of the cluster."""

    service: str = "webhook-service"
    namespace: str = "system"
    port: int = 443
    url: str = ""  # https://host:port; if given, there is no Service
    ca_bundle: bytes = b""

    def document(self, path: str) -> Document:
        """The `clientConfig` of a webhook that is served at a path."""
        if self.url:
            found: Document = {"url": f"{self.url}{path}"}
        else:
            found = {"service": {"name": self.service, "namespace": self.namespace, "path": path}}
            if self.port != 443:
                found["service"]["port"] = self.port
        if self.ca_bundle:
            found["caBundle"] = base64.b64encode(self.ca_bundle).decode()
        return found


def webhook_configurations(
    admissions: Iterable[Admission], client: ClientConfig | None = None, *, prefix: str = ""
) -> list[Document]:
    """A MutatingWebhookConfiguration and a ValidatingWebhookConfiguration, each if there is anything for it."""
    client = client or ClientConfig()
    ordered = sorted(admissions, key=lambda admission: admission.name)
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{word.title()}WebhookConfiguration",
            "metadata": {"name": f"{prefix}{word}-webhook-configuration"},
            "webhooks": [_webhook(admission, client) for admission in those],
        }
        for word, mutating in (("mutating", True), ("validating", False))
        if (those := [admission for admission in ordered if admission.mutating is mutating])
    ]


def crd_conversion(client: ClientConfig | None = None) -> Document:
    """The `spec.conversion` of a CRD whose versions a webhook converts."""
    config = (client or ClientConfig()).document(CONVERSION_PATH)
    return {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]}}


def conversion_patches(conversions: Iterable[Conversion], client: ClientConfig | None = None) -> dict[str, Document]:
    """Plural → a patch for the CRD of each kind that has conversions."""
    infos = {resource_info(conversion.source).group_kind: conversion.source for conversion in conversions}
    return {
        resource_info(cls).plural: {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": str(resource_info(cls).gvr.group_resource)},
            "spec": {"conversion": crd_conversion(client)},
        }
        for _, cls in sorted(infos.items())
    }


def _webhook(admission: Admission, client: ClientConfig) -> Document:
    document: Document = {
        "admissionReviewVersions": ["v1"],
        "clientConfig": client.document(admission.path),
        "failurePolicy": admission.failure_policy,
        "name": admission.name,
        "rules": [_rule(admission)],
        "sideEffects": admission.side_effects,
    }
    said = {
        "matchPolicy": admission.match_policy,
        "reinvocationPolicy": admission.reinvocation_policy,
        "timeoutSeconds": admission.timeout_seconds,
    }
    document |= {key: value for key, value in said.items() if value != _DEFAULTS[key]}
    if admission.namespace_selector is not None:
        document["namespaceSelector"] = dict(admission.namespace_selector)
    if admission.object_selector is not None:
        document["objectSelector"] = dict(admission.object_selector)
    if admission.match_conditions:
        document["matchConditions"] = [{"name": name, "expression": cel} for name, cel in admission.match_conditions]
    return document


def _rule(admission: Admission) -> Document:
    gvk, plural = gvk_of(admission.kind), resource_of(admission.kind).resource
    return {
        "apiGroups": [gvk.group],
        "apiVersions": [gvk.version],
        "operations": [operation.upper() for operation in admission.operations],
        "resources": [plural, *(f"{plural}/{part}" for part in admission.subresources)],
    }
