"""Get and list: reads of the present, of a past that is still known, and of the pages in between."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.errors import (
    continue_expired,
    list_expired,
    not_found,
    revision_too_large,
    unclassified,
)
from kapstan.apiserver.registry.objects import prepare_views, view, views
from kapstan.apiserver.registry.outcome import Listed, Outcome
from kapstan.apiserver.registry.pagination import LATEST, decode_token, encode_token
from kapstan.apiserver.registry.selection import Selection, select
from kapstan.apiserver.request import ListOptions, Request
from kapstan.apiserver.storage.interface import Record, RevisionTooNew, RevisionTooOld, Storage
from kapstan.machinery.errors import APIError, BadRequest
from kapstan.machinery.golang import quote
from kapstan.machinery.validation import FieldError

__all__ = ("get", "invalid_revision", "list_objects", "parse_revision", "select_records")

_MAX_REVISION = 2**64


async def get(request: Request, resource_version: str = "") -> Outcome:
    """One object, not older than the version that the client has seen."""
    kind, storage = request.kind, request.cluster.storage
    try:
        wanted = parse_revision(resource_version)
    except ValueError as error:
        raise invalid_revision(resource_version, error) from None
    _check_not_too_new(storage, wanted)
    record = storage.get(kind.storage.group_resource, request.key)
    if record is None:
        raise not_found(kind.gvr.group_resource, request.name)
    return Outcome(await view(kind, record))


async def list_objects(request: Request, options: ListOptions) -> Listed:
    """The objects of a kind, or a page of them."""
    selection = select(request.kind, request.namespace, options.label_selector, options.field_selector, request.name)
    records, revision, token, remaining = await select_records(request, options, selection)
    return Listed(await views(request.kind, records), revision, token, remaining)


async def select_records(
    request: Request, options: ListOptions, selection: Selection
) -> tuple[Sequence[Record], int, str, int | None]:
    """The records of a list, its revision, and how to go on: token and how many are left, where that is known.

    They are those of the moment at which it is called, however long conversion takes.
    """
    revision, start = _where(request.cluster.storage, options, selection.prefix)
    shown = revision or request.cluster.storage.revision
    candidates = _candidates(request, options, selection, revision, start)
    if selection.by_content:
        candidates = tuple(candidates)
        await prepare_views(request.kind, candidates)
    return _page(candidates, selection, 0 if _from_cache(request.kind, options) else options.limit, shown)


def _candidates(
    request: Request, options: ListOptions, selection: Selection, revision: int | None, start: str
) -> Sequence[Record]:
    storage, table = request.cluster.storage, request.kind.storage.group_resource
    if selection.key is not None and not options.continue_token and revision is None:
        found = storage.get(table, selection.key)
        return [found] if found is not None else []
    try:
        return storage.list(table, selection.prefix, start=start, revision=revision)
    except RevisionTooOld:
        if options.continue_token:
            raise continue_expired(encode_token(LATEST, start, selection.prefix)) from None
        raise list_expired() from None
    except RevisionTooNew as error:
        raise revision_too_large(error.revision, error.current) from None


def _from_cache(kind: ServedKind, options: ListOptions) -> bool:
    """Where any version will do, kube-apiserver answers from its cache, which knows no pages; events are not in it."""
    return options.resource_version == "0" and kind.gvr.resource != "events"


def _where(storage: Storage, options: ListOptions, prefix: str) -> tuple[int | None, str]:
    """The revision to list at (None: the present) and the key to begin with."""
    wanted = _revision_argument(options.resource_version)
    if options.continue_token:
        position = decode_token(options.continue_token, prefix)
        if wanted:
            raise BadRequest("specifying resource version is not allowed when using continue")
        return (None if position.revision == LATEST else position.revision), position.key
    exact = options.resource_version_match == "Exact"
    if exact or (not options.resource_version_match and options.limit > 0 and wanted):
        return wanted, ""
    _check_not_too_new(storage, wanted)
    return None, ""


def _page(
    candidates: Sequence[Record], selection: Selection, limit: int, revision: int
) -> tuple[Sequence[Record], int, str, int | None]:
    if limit <= 0:
        if not selection.trivial:
            candidates = [record for record in candidates if selection.matches(record)]
        return candidates, revision, "", None
    page: list[Record] = []
    for position, record in enumerate(candidates):
        if len(page) == limit:
            token = encode_token(revision, candidates[position - 1].key + "\0", selection.prefix)
            return page, revision, token, len(candidates) - position if selection.trivial else None
        if selection.matches(record):
            page.append(record)
    return page, revision, "", None


def _check_not_too_new(storage: Storage, wanted: int) -> None:
    if wanted > storage.revision:
        raise revision_too_large(wanted, storage.revision)


def _revision_argument(text: str) -> int:
    """`resourceVersion` of a get or list; 0 if none."""
    try:
        return parse_revision(text)
    except ValueError as error:
        raise BadRequest(f"invalid resource version: resourceVersion: Invalid value: {quote(text)}: {error}") from None


def parse_revision(text: str) -> int:
    """A resourceVersion as a number; ValueError in Go's words."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"strconv.ParseUint: parsing {quote(text)}: invalid syntax")
    number = int(text) if len(text) <= 20 else _MAX_REVISION
    if number >= _MAX_REVISION:
        raise ValueError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return number


def invalid_revision(text: str, error: ValueError) -> APIError:
    """Gets and watches answer the same mistake otherwise than a list does."""
    return unclassified(str(FieldError.invalid("resourceVersion", text, str(error))))
