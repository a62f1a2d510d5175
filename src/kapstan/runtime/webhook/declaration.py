"""Declarations of webhooks: functions that default, validate and convert, and say so.

    @defaulter(Memcached)
    def default(memcached: Memcached) -> None: ...

    @validator(Memcached, on={"create", "update"})
    def validate(new: Memcached, old: Memcached | None) -> list[str]: ...     # warnings; raise to refuse

    @convert(v1alpha1.Memcached, v1.Memcached)
    def up(old: v1alpha1.Memcached) -> v1.Memcached: ...

They are plain data on the function: `manager.add(function)` serves it, the generator writes the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct

from kapstan.client.interface import gvk_of
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource

__all__ = (
    "Admission",
    "Conversion",
    "FailurePolicy",
    "Operation",
    "RawAdmission",
    "convert",
    "declared",
    "defaulter",
    "raw_webhook",
    "validator",
)

F = TypeVar("F", bound=Callable[..., Any])
Operation: TypeAlias = Literal["create", "update", "delete", "connect"]
FailurePolicy: TypeAlias = Literal["Fail", "Ignore"]


class Admission(Struct, frozen=True, kw_only=True):
    """A webhook that the API server asks before it writes."""

    kind: type[Resource] | GroupVersionKind
    mutating: bool
    function: Callable[..., Any]
    path: str
    name: str
    operations: tuple[Operation, ...]
    subresources: tuple[str, ...] = ()
    failure_policy: FailurePolicy = "Fail"
    match_policy: Literal["Equivalent", "Exact"] = "Equivalent"
    side_effects: Literal["None", "NoneOnDryRun"] = "None"
    reinvocation_policy: Literal["Never", "IfNeeded"] = "Never"
    timeout_seconds: int = 10
    namespace_selector: Mapping[str, Any] | None = None
    object_selector: Mapping[str, Any] | None = None
    match_conditions: tuple[tuple[str, str], ...] = ()  # names and CEL expressions


class RawAdmission(Struct, frozen=True, kw_only=True):
    """A function of the AdmissionRequest itself, under a path of its own."""

    function: Callable[..., Any]
    path: str


class Conversion(Struct, frozen=True, kw_only=True):
    """A function that makes one version of a kind into another."""

    source: type[Resource]
    target: type[Resource]
    function: Callable[[Any], Any]


def defaulter(
    kind: type[Resource] | GroupVersionKind,
    *,
    on: Iterable[Operation] = ("create", "update"),
    path: str = "",
    name: str = "",
    failure_policy: FailurePolicy = "Fail",
    reinvocation_policy: Literal["Never", "IfNeeded"] = "Never",
    **more: Any,
) -> Callable[[F], F]:
    """Have a function fill in what users left out: it changes the object that it is given.

    `more` are further fields of Admission, such as `timeout_seconds` or `namespace_selector`.
    """

    def declare(function: F) -> F:
        function.__webhook__ = Admission(  # type: ignore[attr-defined]
            kind=kind,
            mutating=True,
            function=function,
            path=path or admission_path("mutate", gvk_of(kind)),
            name=name or _name("m", gvk_of(kind)),
            operations=_ordered(on),
            failure_policy=failure_policy,
            reinvocation_policy=reinvocation_policy,
            **more,
        )
        return function

    return declare


def validator(
    kind: type[Resource] | GroupVersionKind,
    *,
    on: Iterable[Operation] = ("create", "update"),
    path: str = "",
    name: str = "",
    failure_policy: FailurePolicy = "Fail",
    **more: Any,
) -> Callable[[F], F]:
    """Have a function decide whether an object may be written: it is given the new and the old one.

    There is no old one on create, and no new one on delete. It returns warnings, if any, and refuses by raising:
    Invalid or Forbidden as they are, a ValueError as a refusal with its text.
    """

    def declare(function: F) -> F:
        function.__webhook__ = Admission(  # type: ignore[attr-defined]
            kind=kind,
            mutating=False,
            function=function,
            path=path or admission_path("validate", gvk_of(kind)),
            name=name or _name("v", gvk_of(kind)),
            operations=_ordered(on),
            failure_policy=failure_policy,
            **more,
        )
        return function

    return declare


def raw_webhook(path: str) -> Callable[[F], F]:
    """Have a function answer AdmissionRequests under a path: `(AdmissionRequest) -> AdmissionResponse`."""
    if not path.startswith("/"):
        raise ValueError(f"the path of a webhook begins with a slash, not as {path!r}")

    def declare(function: F) -> F:
        function.__webhook__ = RawAdmission(function=function, path=path)  # type: ignore[attr-defined]
        return function

    return declare


def convert(source: type[Resource], target: type[Resource]) -> Callable[[F], F]:
    """Have a function make one version of a kind into another. Versions in between are found by themselves."""
    if gvk_of(source).group_kind != gvk_of(target).group_kind:
        raise ValueError(f"{gvk_of(source)} and {gvk_of(target)} are not two versions of one kind")

    def declare(function: F) -> F:
        function.__webhook__ = Conversion(source=source, target=target, function=function)  # type: ignore[attr-defined]
        return function

    return declare


def declared(webhook: Any) -> Admission | RawAdmission | Conversion:
    """What a decorated function declares; TypeError if it is none."""
    found = webhook if isinstance(webhook, Struct) else getattr(webhook, "__webhook__", None)
    if isinstance(found, Admission | RawAdmission | Conversion):
        return found
    raise TypeError(f"{webhook!r} is no webhook: decorate it with @defaulter, @validator, @convert or @raw_webhook")


def admission_path(verb: str, gvk: GroupVersionKind) -> str:
    """`/mutate-cache-example-com-v1-memcached`, as controller-runtime has it."""
    group = gvk.group.replace(".", "-")
    return f"/{verb}-{group}-{gvk.version}-{gvk.kind.lower()}"


def _name(letter: str, gvk: GroupVersionKind) -> str:
    """`mmemcached-v1.cache.example.com`, as kubebuilder has it."""
    return f"{letter}{gvk.kind.lower()}-{gvk.version}.{gvk.group or 'kb.io'}"


def _ordered(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    known: tuple[Operation, ...] = ("create", "update", "delete", "connect")
    wanted = set(operations)
    if unknown := wanted - set(known):
        raise ValueError(f"webhooks are asked on {', '.join(known)}, not on {', '.join(map(str, sorted(unknown)))}")
    return tuple(one for one in known if one in wanted)
