"""OpenID discovery: where others learn to check the service-account tokens of a cluster."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.authn.serviceaccount import ServiceAccountTokens

__all__ = ("CONFIGURATION_PATH", "JWKS_CONTENT_TYPE", "JWKS_PATH", "configuration", "key_set")

CONFIGURATION_PATH = "/.well-known/openid-configuration"
JWKS_PATH = "/openid/v1/jwks"
JWKS_CONTENT_TYPE = "application/jwk-set+json"


def configuration(tokens: ServiceAccountTokens, address: str) -> dict[str, Any]:
    """The provider's metadata; `address` is the host and port under which the cluster is reached."""
    return {
        "issuer": tokens.issuer,
        "jwks_uri": f"https://{address}{JWKS_PATH}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted({verifier.algorithm for verifier in tokens.verifiers}),
    }


def key_set(tokens: ServiceAccountTokens) -> dict[str, Any]:
    """The public keys."""
    return {"keys": [verifier.jwk() for verifier in tokens.verifiers]}
