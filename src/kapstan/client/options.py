"""Options of reads and writes, and the query strings that they become."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypedDict
from urllib.parse import urlencode

from msgspec import Struct

from kapstan.client.interface import FieldValidation, Selector
from kapstan.machinery.fields import escape_value

__all__ = (
    "ListOptions",
    "SelectOptions",
    "WatchOptions",
    "WriteArguments",
    "WriteOptions",
    "field_selector",
    "label_selector",
    "list_query",
    "query",
    "watch_query",
    "write_query",
)


class SelectOptions(TypedDict, total=False):
    """Which objects: those that match both selectors."""

    labels: Selector
    fields: Selector


class ListOptions(SelectOptions, total=False):
    """Which part of a list, and of which moment."""

    limit: int  # at most so many; the rest is had with the continue token
    continue_token: str
    resource_version: str  # empty: the latest; "0": any, from the server's cache
    version_match: Literal["", "Exact", "NotOlderThan"]


class WatchOptions(SelectOptions, total=False):
    """Where a watch begins and when it ends."""

    resource_version: str  # the moment after which; empty: everything that is there first, as ADDED
    version_match: Literal["", "Exact", "NotOlderThan"]
    timeout: float | None  # seconds after which the server ends it; None: the server's choice, half an hour or more
    bookmarks: bool  # also tell, about once a minute, how far we are
    send_initial_events: bool  # what is there first, and then a bookmark that says so


class WriteArguments(TypedDict, total=False):
    """The options of a write, as arguments."""

    subresource: str
    field_manager: str
    dry_run: bool
    field_validation: FieldValidation | None


class WriteOptions(Struct, frozen=True, kw_only=True):
    """What every write may say beside its object."""

    field_manager: str = ""
    dry_run: bool = False
    field_validation: FieldValidation | None = None  # None: the server's default, which is to warn


@lru_cache(maxsize=256)
def write_query(options: WriteOptions, force: bool = False) -> str:
    """The query of a write: almost always one of a few."""
    return query(
        fieldManager=options.field_manager,
        fieldValidation=options.field_validation or "",
        dryRun="All" if options.dry_run else "",
        force="true" if force else "",
    )


def query(**parameters: str | int | float | bool | None) -> str:
    """`?a=b&c=d` of those that say something, empty if none does."""
    said = {
        name: ("true" if value is True else str(value))
        for name, value in parameters.items()
        if value is not None and value is not False and value != ""
    }
    return f"?{urlencode(said)}" if said else ""


def list_query(options: ListOptions) -> str:
    return query(
        labelSelector=label_selector(options.get("labels", "")),
        fieldSelector=field_selector(options.get("fields", "")),
        limit=options.get("limit") or None,
        resourceVersion=options.get("resource_version", ""),
        resourceVersionMatch=options.get("version_match", ""),
        **{"continue": options.get("continue_token", "")},
    )


def watch_query(options: WatchOptions) -> str:
    timeout = options.get("timeout")
    return query(
        watch=True,
        labelSelector=label_selector(options.get("labels", "")),
        fieldSelector=field_selector(options.get("fields", "")),
        resourceVersion=options.get("resource_version", ""),
        resourceVersionMatch=options.get("version_match", ""),
        timeoutSeconds=math.ceil(timeout) if timeout is not None else None,
        allowWatchBookmarks=options.get("bookmarks", False),
        sendInitialEvents=options.get("send_initial_events", False),
    )


def label_selector(selector: Selector) -> str:
    """As Kubernetes writes it."""
    return selector if isinstance(selector, str) else _equalities(selector)


def field_selector(selector: Selector) -> str:
    """As Kubernetes writes it."""
    if isinstance(selector, str):
        return selector
    return _equalities({name: escape_value(value) for name, value in selector.items()})


def _equalities(pairs: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in pairs.items())
