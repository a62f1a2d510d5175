"""TokenRequest: the subresource `serviceaccounts/token` hands out tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kapstan.apiserver.registry import errors
from kapstan.apiserver.registry.admitting import admission_attributes, admit
from kapstan.apiserver.registry.metadata import ensure_namespace
from kapstan.apiserver.request import Request
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupKind, GroupResource, GroupVersion
from kapstan.machinery.validation import FieldError, Path

__all__ = ("create",)

_KIND = GroupKind("authentication.k8s.io", "TokenRequest")
_SHORTEST = 600
_LONGEST = 1 << 32
# What kubelets of old asked for. Clients that never reload their token would break after an hour, so kube-apiserver
# gives a year to a token that asks for exactly this, and notes when it should have been renewed.
_WARN_ONLY = 60 * 60 + 7
_EXTENDED = 365 * 24 * 60 * 60

Object = dict[str, Any]


async def create(request: Request, body: Object | None) -> Object:
    """Issue a token for the service account that the request names."""
    wanted = await _admitted(request, body or {})
    metadata, spec = wanted["metadata"], wanted["spec"]
    account = _account(request, metadata)
    metadata |= {key: account["metadata"][key] for key in ("name", "namespace", "uid")}
    metadata["creationTimestamp"] = request.timestamp
    spec["audiences"] = spec.get("audiences") or list(request.cluster.authenticator.tokens.audiences)
    _check_expiration(spec["expirationSeconds"])
    await request.cluster.admission.validate(admission_attributes(request, "CREATE", wanted, None))
    expires = request.now + timedelta(seconds=spec["expirationSeconds"])
    status = {"token": _issued(request, account, spec), "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return {**wanted, "status": status}


async def _admitted(request: Request, body: Object) -> Object:
    """The request as mutating admission leaves it, defaults filled in."""
    metadata, spec = dict(body.get("metadata") or {}), dict(body.get("spec") or {})
    ensure_namespace(request, metadata)
    spec.setdefault("audiences", None)
    spec.setdefault("expirationSeconds", 3600)
    spec.setdefault("boundObjectRef", None)
    head = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
    status = {"token": "", "expirationTimestamp": None}
    return await admit(request, "CREATE", {**head, "metadata": metadata, "spec": spec, "status": status}, None)


def _issued(request: Request, account: Object, spec: Object) -> str:
    tokens, seconds, bound = request.cluster.authenticator.tokens, spec["expirationSeconds"], _bound(request, spec)
    extended = "pod" in bound and seconds == _WARN_ONLY and set(spec["audiences"]) <= set(tokens.audiences)
    return tokens.issue(
        account,
        request.now,
        audiences=spec["audiences"],
        seconds=_EXTENDED if extended else seconds,
        warn_after=seconds if extended else 0,
        bound=bound,
    )


def _account(request: Request, metadata: Object) -> Object:
    """The service account, if it is the one that the request's object means."""
    name = metadata.get("name")
    if name and name != request.name:
        detail = "must match the service account name if specified"
        raise errors.invalid(_KIND, request.name, [FieldError.invalid(Path("metadata", "name"), name, detail)])
    account = _get(request.cluster.storage, "serviceaccounts", request.namespace, request.name)
    uid, given = account["metadata"]["uid"], metadata.get("uid")
    if given and given != uid:
        why = f"the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        raise errors.conflict(GroupResource(*_KIND), request.name, why)
    return account


def _check_expiration(seconds: int) -> None:
    path = Path("spec", "expirationSeconds")
    if seconds < _SHORTEST:
        error = FieldError.invalid(path, seconds, "may not specify a duration less than 10 minutes")
        raise errors.invalid(_KIND, "", [error])
    if seconds > _LONGEST:
        error = FieldError.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")
        raise errors.invalid(_KIND, "", [error])


def _bound(request: Request, spec: Object) -> dict[str, Object]:
    """What the token shall be bound to, by claim."""
    reference: Object | None = spec.get("boundObjectRef")
    if not reference:
        return {}
    storage, namespace, name = request.cluster.storage, request.namespace, reference.get("name", "")
    kind = reference.get("kind", "")
    match kind if _core(reference.get("apiVersion", "")) else "":
        case "Pod":
            pod = _get(storage, "pods", namespace, name)
            if (pod.get("spec") or {}).get("serviceAccountName") != request.name:
                account = quote(request.name)
                raise BadRequest(
                    f"cannot bind token for serviceaccount {account} to pod running with different serviceaccount name."
                )
            bound = {"pod": pod, **_node_of(storage, pod)}
        case "Node":
            bound = {"node": _get(storage, "nodes", "", name)}
        case "Secret":
            bound = {"secret": _get(storage, "secrets", namespace, name)}
        case _:
            raise BadRequest(f"cannot bind token to object of type {_described(reference)}")
    uid = bound[kind.lower()]["metadata"]["uid"]
    given = reference.get("uid")
    if given and given != uid:
        why = (
            f"the UID in the bound object reference ({given}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(GroupResource("", kind), name, why)
    return bound


def _node_of(storage: Storage, pod: Object) -> dict[str, Object]:
    """The node that a pod runs on, as far as it is known."""
    name = pod["spec"].get("nodeName")
    if not name:
        return {}
    record = storage.get(GroupResource("", "nodes"), name)
    return {"node": codec.decode_any(record.value) if record else {"metadata": {"name": name}}}


def _core(api_version: str) -> bool:
    return "/" not in api_version


def _described(reference: Object) -> str:
    try:
        group, version = GroupVersion.parse(reference.get("apiVersion", ""))
    except ValueError:
        group, version = "", ""
    return f"{group}/{version}, Kind={reference.get('kind', '')}"


def _get(storage: Storage, resource: str, namespace: str, name: str) -> Object:
    record = storage.get(GroupResource("", resource), f"{namespace}/{name}" if namespace else name)
    if record is None:
        raise errors.not_found(GroupResource("", resource), name)
    found: Object = codec.decode_any(record.value)
    return found
