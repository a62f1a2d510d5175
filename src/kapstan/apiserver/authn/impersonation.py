"""Impersonation: acting as somebody else, as far as one is allowed to.

Kubernetes 1.36 tries constrained modes first: `impersonate:<mode>` on whom, and `impersonate-on:<mode>:<verb>` on what
is to be done as them. Then comes the old way, the plain verb `impersonate`, which knows no such limits. Who is refused
by all of them is told the first refusal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple
from urllib.parse import unquote

from msgspec.structs import replace

from kapstan.apiserver.authn import identity
from kapstan.apiserver.authz.interface import Authorizer, forbidden
from kapstan.apiserver.request import Attributes, UserInfo
from kapstan.machinery.errors import BadRequest, Forbidden
from kapstan.machinery.golang import join_quoted, quote
from kapstan.machinery.names import dns1123_subdomain_errors
from kapstan.machinery.validation import FieldError

__all__ = ("impersonated",)

_GROUP = "authentication.k8s.io"
_EXTRA = "impersonate-extra-"
_MANY = 4  # from so many groups or extra values on, one question about `*` is tried first

_Mode = Literal["associated-node", "arbitrary-node", "serviceaccount", "user-info"]


class _Wanted(NamedTuple):
    """Whom the headers ask for, as they ask for it."""

    name: str
    uid: str
    groups: tuple[str, ...]
    extra: Mapping[str, tuple[str, ...]]

    @property
    def only_name(self) -> bool:
        return not (self.uid or self.groups or self.extra)

    def __str__(self) -> str:
        """As Go writes the value, which is what the refusal shows."""
        groups = f"[]string{{{join_quoted(self.groups)}}}" if self.groups else "[]string(nil)"
        extra = ", ".join(f"{quote(key)}:[]string{{{join_quoted(self.extra[key])}}}" for key in sorted(self.extra))
        shown = f"map[string][]string{{{extra}}}" if self.extra else "map[string][]string(nil)"
        return f"&user.DefaultInfo{{Name:{quote(self.name)}, UID:{quote(self.uid)}, Groups:{groups}, Extra:{shown}}}"


def impersonated(headers: Iterable[tuple[str, str]], attributes: Attributes, authorizer: Authorizer) -> UserInfo:
    """The user that a request acts as: its own, unless headers ask for another. BadRequest, Forbidden."""
    wanted = _wanted(headers)
    if wanted is None:
        return attributes.user
    refusals: list[Forbidden] = []
    for mode in _modes(wanted, attributes.user):
        try:
            return _Impersonation(wanted, attributes, authorizer, mode).allowed()
        except Forbidden as refusal:
            refusals.append(refusal)
    raise refusals[0]


def _wanted(headers: Iterable[tuple[str, str]]) -> _Wanted | None:
    name = uid = ""
    groups: list[str] = []
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in headers:
        match header.lower():
            case "impersonate-user":
                name = name or value
            case "impersonate-uid":
                uid = uid or value
            case "impersonate-group":
                groups.append(value)
            case lower if lower.startswith(_EXTRA):
                key = unquote(lower.removeprefix(_EXTRA))
                extra[key] = (*extra.get(key, ()), value)
    wanted = _Wanted(name, uid, tuple(groups), extra)
    if name:
        return wanted
    if not wanted.only_name:
        raise BadRequest(f"requested {wanted} without impersonating a user name")
    return None


def _modes(wanted: _Wanted, requester: UserInfo) -> Iterator[_Mode | None]:
    """The modes that can lead to the wanted user, in the order in which they are tried; None is the old way."""
    node = identity.node_name(wanted.name)
    account = identity.ServiceAccount.parse(wanted.name)
    if node and wanted.only_name:
        own = requester.extra.get(identity.NODE_NAME, ())
        if identity.ServiceAccount.parse(requester.name) and tuple(own) == (node,):
            yield "associated-node"
        yield "arbitrary-node"
    if account and wanted.only_name:
        yield "serviceaccount"
    if not node and not account:
        yield "user-info"
    yield None


class _Impersonation:
    """One mode's questions to the authorizer."""

    def __init__(self, wanted: _Wanted, attributes: Attributes, authorizer: Authorizer, mode: _Mode | None) -> None:
        self._wanted = wanted
        self._attributes = attributes
        self._authorizer = authorizer
        self._mode = mode
        self._verb = f"impersonate:{mode}" if mode else "impersonate"
        # The old way asks about users and groups of the core group.
        self._group = _GROUP if mode else ""
        self._requester = attributes.user
        if mode == "associated-node":  # whichever node it is: the question must not depend on the pod that asks
            keys = tuple(sorted(attributes.user.extra))
            known = {"authentication.kubernetes.io/associated-node-keys": keys}
            self._requester = replace(attributes.user, extra=known)

    def allowed(self) -> UserInfo:
        """The user to act as; Forbidden at the first thing that is not allowed."""
        if self._mode:
            verb = f"impersonate-on:{self._mode}:{self._attributes.verb}"
            self._check(replace(self._attributes, verb=verb, user=self._requester))
        groups = self._check_name()
        if self._wanted.uid:
            self._ask(_GROUP, "uids", self._wanted.uid)
        self._check_groups()
        self._check_extra()
        return UserInfo(
            self._wanted.name, self._wanted.uid, _with_everyone(self._wanted.name, groups), self._wanted.extra
        )

    def _check_name(self) -> tuple[str, ...]:
        """Returns the groups: nodes and service accounts have theirs by nature."""
        name, groups = self._wanted.name, self._wanted.groups
        account, node = identity.ServiceAccount.parse(name), identity.node_name(name)
        if account:
            self._ask(self._group, "serviceaccounts", account.name, namespace=account.namespace)
            return groups or account.groups
        if node and self._mode:
            self._ask(self._group, "nodes", "*" if self._mode == "associated-node" else node)
            return (identity.NODES,)
        self._ask(self._group, "users", name)
        return groups

    def _check_groups(self) -> None:
        groups = self._wanted.groups
        if self._mode:
            if "" in groups:
                raise forbidden(
                    self._about(self._group, "groups", ""), "impersonating the empty string group is not allowed"
                )
            if identity.MASTERS in groups:
                about = self._about(self._group, "groups", identity.MASTERS)
                raise forbidden(about, "impersonating the system:masters group is not allowed")
            if len(groups) >= _MANY and self._allows(self._about(self._group, "groups", "*")):
                return
        for group in groups:
            self._ask(self._group, "groups", group)

    def _check_extra(self) -> None:
        extra = self._wanted.extra
        if self._mode and extra:
            if problem := _extra_problem(extra):
                raise forbidden(self._about(_GROUP, "userextras", ""), problem)
            many = sum(map(len, extra.values())) >= _MANY
            if many and self._allows(self._about(_GROUP, "userextras", "*", subresource="*")):
                return
        for key, values in extra.items():
            for value in values:
                self._ask(_GROUP, "userextras", value, subresource=key)

    def _about(self, group: str, resource: str, name: str, *, namespace: str = "", subresource: str = "") -> Attributes:
        return Attributes(
            user=self._requester,
            verb=self._verb,
            group=group,
            version="v1",
            resource=resource,
            subresource=subresource,
            namespace=namespace,
            name=name,
        )

    def _ask(self, group: str, resource: str, name: str, *, namespace: str = "", subresource: str = "") -> None:
        self._check(self._about(group, resource, name, namespace=namespace, subresource=subresource))

    def _allows(self, attributes: Attributes) -> bool:
        return self._authorizer.authorize(attributes).allowed

    def _check(self, attributes: Attributes) -> None:
        decision = self._authorizer.authorize(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)


def _with_everyone(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Anonymous belongs to the unauthenticated, all others to the authenticated unless they say otherwise."""
    if name == identity.ANONYMOUS:
        return groups if identity.UNAUTHENTICATED in groups else (*groups, identity.UNAUTHENTICATED)
    if identity.UNAUTHENTICATED in groups or identity.AUTHENTICATED in groups:
        return groups
    return (*groups, identity.AUTHENTICATED)


def _extra_problem(extra: Mapping[str, Sequence[str]]) -> str:
    for key, values in extra.items():
        domain, _, path = key.partition("/")
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if not path or dns1123_subdomain_errors(domain):
            detail = 'must be a domain-prefixed path (such as "acme.io/foo")'
            invalid = FieldError.invalid("extra.key", key, detail)
            return f"impersonating an invalid key in extra is not allowed: {invalid}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""
