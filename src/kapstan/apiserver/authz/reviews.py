"""Reviews: who may do what, who is it that asks, whose token is this. They are answered, never stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.apiserver.authn.interface import user_info
from kapstan.apiserver.authn.jwt import InvalidToken
from kapstan.apiserver.authz.rules import PolicyRule
from kapstan.apiserver.kinds import Handler
from kapstan.apiserver.registry import errors
from kapstan.apiserver.registry.admitting import admission_attributes, admit
from kapstan.apiserver.registry.metadata import ensure_namespace
from kapstan.apiserver.request import Attributes, Request, UserInfo
from kapstan.machinery import fields, labels
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.gvk import GroupKind, GroupResource
from kapstan.machinery.validation import FieldError, Path

__all__ = ("HANDLERS",)

_AUTHORIZATION = "authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"
_ATTRIBUTES = Path("spec.resourceAttributes")

Object = dict[str, Any]


# --- Access reviews ---------------------------------------------------------------------------------------------


async def _subject_access_review(request: Request, body: Object | None) -> Object:
    review = await _review(request, body)
    spec = _spec(review)
    complaints = _spec_errors(spec, own=False) + _metadata_errors(review, allowed=(), detail="must be empty")
    await _accept(request, review, complaints)
    return _answered(request, review, _subject(spec))


async def _local_subject_access_review(request: Request, body: Object | None) -> Object:
    review = await _review(request, body)
    spec, namespace = _spec(review), review["metadata"].get("namespace", "")
    complaints = _spec_errors(spec, own=False)
    complaints += _metadata_errors(review, allowed=("namespace",), detail="must be empty except for namespace")
    resource = spec.get("resourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        wrong = resource.get("namespace", "")
        complaints.append(FieldError.invalid(_ATTRIBUTES.child("namespace"), wrong, "must match metadata.namespace"))
    if spec.get("nonResourceAttributes") is not None:
        path, value = Path("spec.nonResourceAttributes"), _shown(spec["nonResourceAttributes"])
        complaints.append(FieldError.invalid(path, value, "disallowed on this kind of request"))
    await _accept(request, review, complaints)
    if namespace != request.namespace:
        raise BadRequest(f"spec.resourceAttributes.namespace must match namespace: {request.namespace}")
    return _answered(request, review, _subject(spec))


async def _self_subject_access_review(request: Request, body: Object | None) -> Object:
    review = await _review(request, body)
    complaints = _spec_errors(_spec(review), own=True) + _metadata_errors(review, allowed=(), detail="must be empty")
    await _accept(request, review, complaints)
    return _answered(request, review, request.user)


def _answered(request: Request, review: Object, user: UserInfo) -> Object:
    spec = _spec(review)
    decision = request.cluster.authorizer.authorize(_asked(spec, user))
    status: Object = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    if ignored := _ignored_selectors(spec.get("resourceAttributes") or {}):
        status["evaluationError"] = "; ".join(ignored)
    return review | {"status": status}


def _asked(spec: Object, user: UserInfo) -> Attributes:
    resource = spec.get("resourceAttributes")
    if resource is None:
        path = spec["nonResourceAttributes"]
        return Attributes(user=user, verb=path.get("verb", ""), path=path.get("path", ""))
    texts = {key: resource.get(key, "") for key in ("verb", "group", "resource", "subresource", "namespace", "name")}
    return Attributes(
        user=user, version=resource.get("version") or "*", field_selector=_field_selector(resource), **texts
    )


def _field_selector(resource: Object) -> str:
    """As text, which is how requests carry it; what cannot be read is left out."""
    selector = resource.get("fieldSelector") or {}
    parts = [
        f"{one.get('key', '')}{'=' if one['operator'] == 'In' else '!='}{fields.escape_value(one['values'][0])}"
        for one in selector.get("requirements") or ()
        if one.get("operator") in ("In", "NotIn") and len(one.get("values") or ()) == 1
    ]
    return selector.get("rawSelector") or ",".join(parts)


def _ignored_selectors(resource: Object) -> list[str]:
    ignored = []
    for key, parse, error in (
        ("fieldSelector", fields.parse, fields.InvalidSelector),
        ("labelSelector", labels.parse, labels.InvalidSelector),
    ):
        try:
            parse((resource.get(key) or {}).get("rawSelector") or "")
        except error:
            ignored.append(f"spec.resourceAttributes.{key} ignored due to parse error")
    return ignored


def _subject(spec: Object) -> UserInfo:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return UserInfo(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _spec_errors(spec: Object, *, own: bool) -> list[FieldError]:
    path = Path("spec")
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    complaints = []
    if resource is not None and other is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        complaints.append(FieldError.invalid(path.child("nonResourceAttributes"), _shown(other), detail))
    if resource is None and other is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        complaints.append(FieldError.invalid(path.child("resourceAttributes"), None, detail))
    if not own and not spec.get("user") and not spec.get("groups"):
        complaints.append(FieldError.invalid(path.child("user"), "", "at least one of user or group must be specified"))
    for key in ("fieldSelector", "labelSelector"):
        complaints += _selector_errors((resource or {}).get(key), _ATTRIBUTES.child(key))
    return complaints


def _shown(attributes: Object) -> Object:
    """As messages show it: all fields, under their Go names."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def _selector_errors(selector: Object | None, path: Path) -> list[FieldError]:
    if selector is None:
        return []
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        return [
            FieldError.invalid(path.child("rawSelector"), raw, "may not specified at the same time as requirements")
        ]
    if not raw and not requirements:
        detail = f"when {path} is specified, requirements or rawSelector is required"
        return [FieldError.required(path.child("requirements"), detail)]
    return []


def _metadata_errors(review: Object, *, allowed: tuple[str, ...], detail: str) -> list[FieldError]:
    metadata = review["metadata"]
    if any(value and key not in (*allowed, "managedFields") for key, value in metadata.items()):
        return [FieldError.invalid("metadata", metadata, detail)]
    return []


async def _accept(request: Request, review: Object, complaints: list[FieldError]) -> None:
    """Refuse what is wrong, then let validating admission refuse."""
    if complaints:
        # Kubernetes knows no kind here either: it decodes reviews into a form that carries none.
        raise errors.invalid(GroupKind(request.kind.gvk.group, ""), "", complaints)
    await request.cluster.admission.validate(admission_attributes(request, "CREATE", review, None))


# --- Rules ----------------------------------------------------------------------------------------------------------


async def _self_subject_rules_review(request: Request, body: Object | None) -> Object:
    review = await _review(request, body)
    namespace = _spec(review).get("namespace")
    if not namespace:
        raise BadRequest("no namespace on request")
    await _accept(request, review, [])
    rules, error, incomplete = request.cluster.authorizer.rules_for(request.user, namespace)
    status: Object = {
        "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.non_resource_urls)}
            for rule in rules
            if rule.non_resource_urls
        ],
        "incomplete": incomplete,
    }
    if error:
        status["evaluationError"] = error
    return _head(request) | {"metadata": {}, "spec": {}, "status": status}


def _resource_rule(rule: PolicyRule) -> Object:
    found = {
        "verbs": list(rule.verbs),
        "apiGroups": list(rule.api_groups),
        "resources": list(rule.resources),
    }
    return found | ({"resourceNames": list(rule.resource_names)} if rule.resource_names else {})


# --- Who is it ----------------------------------------------------------------------------------------------------


async def _self_subject_review(request: Request, body: Object | None) -> Object:
    await _accept(request, await _review(request, body), [])
    status = {"userInfo": user_info(request.user)}
    return _head(request) | {"metadata": {"creationTimestamp": request.timestamp}, "status": status}


async def _token_review(request: Request, body: Object | None) -> Object:
    review = await _review(request, body)
    spec = _spec(review)
    if not spec.get("token"):
        raise BadRequest("token is required for TokenReview in authentication")
    await _accept(request, review, [])
    authenticator = request.cluster.authenticator
    wanted = tuple(spec.get("audiences") or authenticator.tokens.audiences)
    try:
        found = authenticator.authenticate_token(spec["token"], wanted, request.now)
    except InvalidToken as error:
        return review | {"status": {"user": {}, "error": str(error)}}
    if not found.audiences:
        raise errors.internal("error validating audiences")
    status = {"authenticated": True, "user": user_info(found.user), "audiences": list(found.audiences)}
    return review | {"status": status}


# --- Shared ---------------------------------------------------------------------------------------------------------


def _head(request: Request) -> Object:
    return {"kind": request.kind.gvk.kind, "apiVersion": request.kind.gvk.api_version}


async def _review(request: Request, body: Object | None) -> Object:
    """The body with what every answer repeats of it, as mutating admission leaves it."""
    given = body or {}
    metadata = dict(given.get("metadata") or {})
    ensure_namespace(request, metadata)
    review = {**_head(request), **given, "metadata": metadata, "spec": _spec(given)}
    return await admit(request, "CREATE", review, None)


def _spec(review: Object) -> Object:
    spec: Object = review.get("spec") or {}
    return spec


HANDLERS: Mapping[GroupResource, Handler] = {
    GroupResource(_AUTHORIZATION, "subjectaccessreviews"): _subject_access_review,
    GroupResource(_AUTHORIZATION, "localsubjectaccessreviews"): _local_subject_access_review,
    GroupResource(_AUTHORIZATION, "selfsubjectaccessreviews"): _self_subject_access_review,
    GroupResource(_AUTHORIZATION, "selfsubjectrulesreviews"): _self_subject_rules_review,
    GroupResource(_AUTHENTICATION, "selfsubjectreviews"): _self_subject_review,
    GroupResource(_AUTHENTICATION, "tokenreviews"): _token_review,
}
