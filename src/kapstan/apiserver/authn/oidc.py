"""OpenID discovery: where others learn to check the service-account tokens of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from kapstan.apiserver.authn.serviceaccount import ServiceAccountTokens
from kapstan.apiserver.http.message import HTTPRequest, Response

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("CONFIGURATION_PATH", "KEYS_PATH", "configuration", "key_set", "paths")

CONFIGURATION_PATH = "/.well-known/openid-configuration"
KEYS_PATH = "/openid/v1/jwks"

_CACHED = {"Cache-Control": "public, max-age=3600"}


def paths(cluster: LogicalCluster) -> dict[str, Callable[[HTTPRequest], Response]]:
    """The two documents as a cluster serves them."""

    def serve_configuration(request: HTTPRequest) -> Response:
        body = msgspec.json.encode(configuration(cluster.tokens, cluster.address))
        return Response(200, body, headers=dict(_CACHED))

    def serve_keys(request: HTTPRequest) -> Response:
        body = msgspec.json.encode(key_set(cluster.tokens))
        return Response(200, body, "application/jwk-set+json", dict(_CACHED))

    return {CONFIGURATION_PATH: serve_configuration, KEYS_PATH: serve_keys}


def configuration(tokens: ServiceAccountTokens, address: str) -> dict[str, Any]:
    """The provider's metadata; `address` is the host and port under which the cluster is reached."""
    return {
        "issuer": tokens.issuer,
        "jwks_uri": f"https://{address}{KEYS_PATH}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted({verifier.algorithm for verifier in tokens.verifiers}),
    }


def key_set(tokens: ServiceAccountTokens) -> dict[str, Any]:
    """The public keys."""
    return {"keys": [verifier.jwk() for verifier in tokens.verifiers]}
