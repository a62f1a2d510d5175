"""Built-in kinds: the same objects to both servers, the same defaults, refusals, warnings and tables."""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.apiserver.strategy.changed import CHANGES, Change
from tests.integration.apiserver.strategy.conftest import Answer, Server, normal, refusal
from tests.integration.apiserver.strategy.objects import CASES
from tests.integration.apiserver.strategy.refused import REFUSED
from tests.integration.apiserver.strategy.statuses import STATUSES
from tests.integration.apiserver.strategy.warned import WARNED

if TYPE_CHECKING:
    from tests.integration.apiserver.strategy.conftest import Both

pytestmark = pytest.mark.real

Object = dict[str, Any]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
# Kinds whose names say something, so that there cannot be many.
NAMED = {"APIService", "CSIDriver", "IPAddress"}


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two JSON values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            found
            for key in sorted(ours.keys() | theirs.keys())
            for found in differences(ours.get(key, "<absent>"), theirs.get(key, "<absent>"), f"{path}.{key}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [found for index, (one, other) in pairs for found in differences(one, other, f"{path}[{index}]")]
    same = ours == theirs and type(ours) is type(theirs)
    return [] if same else [f"{path}: embedded {json.dumps(ours)}, real {json.dumps(theirs)}"]


def compared(ours: Answer, theirs: Answer) -> list[str]:
    if ours.status < 300 and theirs.status < 300:
        return differences(normal(ours.body), normal(theirs.body))
    mine, other = refusal(ours), refusal(theirs)
    return [] if mine == other else [f"embedded {mine}", f"real     {other}"]


def named(obj: Object, name: str) -> Object:
    """A copy of its own name, that no other test has taken on the server that all tests share."""
    found = copy.deepcopy(obj)
    if found["kind"] not in NAMED:
        found["metadata"]["name"] = re.sub("[^a-z0-9]+", "-", name.lower())
    return found


async def test_new_objects_get_the_same_defaults(both: Both) -> None:
    found: dict[str, list[str]] = {}
    for name, obj in CASES.items():
        ours, theirs = await both.ask(Server.create, obj, "?dryRun=All")
        assert theirs.status == 201, theirs
        found[name] = compared(ours, theirs)
    assert {name: why for name, why in found.items() if why} == {}


async def test_the_same_objects_are_refused(both: Both) -> None:
    found: dict[str, list[str]] = {}
    for name, obj in REFUSED.items():
        ours, theirs = await both.ask(Server.create, obj, "?dryRun=All")
        assert theirs.status >= 400, (name, theirs)
        found[name] = compared(ours, theirs)
    assert {name: why for name, why in found.items() if why} == {}


async def test_the_same_warnings_are_given(both: Both) -> None:
    found: dict[str, tuple[list[str], list[str]]] = {}
    for name, obj in WARNED.items():
        ours, theirs = await both.ask(Server.create, obj, "?dryRun=All")
        assert (ours.status, theirs.status) == (201, 201), (name, ours, theirs)
        assert theirs.warnings, name
        found[name] = sorted(ours.warnings), sorted(theirs.warnings)
    assert {name: pair for name, pair in found.items() if pair[0] != pair[1]} == {}


async def test_changes_have_the_same_effect(both: Both) -> None:
    found: dict[str, list[str]] = {}
    for name, change in CHANGES.items():
        obj = named(CASES[change.case], f"changed {name}")
        ours, theirs = await both.ask(_changed, obj, change)
        found[name] = compared(ours, theirs)
    assert {name: why for name, why in found.items() if why} == {}


async def _changed(server: Server, obj: Object, change: Change) -> Answer:
    created = await server.create(obj)
    assert created.status == 201, created
    answer = await server.merge(obj, change.patch, change.subresource)
    await server.delete(obj)
    return answer


async def test_tables_are_the_same(both: Both) -> None:
    found: dict[str, list[str]] = {}
    for name, obj in CASES.items():
        if name in ("api service", "flow schema"):  # a real server fills in their status at once
            continue
        obj = named(obj, f"table {name}")
        ours, theirs = await both.ask(_table, obj, STATUSES.get(name))
        found[name] = differences(_columns(ours.body), _columns(theirs.body))
        found[name] += differences(_rows(ours.body), _rows(theirs.body))
    assert {name: why for name, why in found.items() if why} == {}


async def _table(server: Server, obj: Object, status: Object | None) -> Answer:
    created = await server.create(obj)
    assert created.status == 201, created
    name = created.body["metadata"]["name"]
    if status is not None:
        answer = await server.merge(created.body, {"status": status}, "status")
        assert answer.status == 200, answer
    table = await server.ask("GET", server.path(obj, name), accept=TABLE)
    await server.delete(created.body)
    return table


def _columns(table: Object) -> list[Object]:
    """What each column is; the descriptions are our own."""
    return [
        {key: column[key] for key in ("name", "type", "format", "priority")} for column in table["columnDefinitions"]
    ]


def _rows(table: Object) -> list[Object]:
    """There may be more cells than columns: addresses of services have an age that no column announces."""
    dates = {index for index, column in enumerate(table["columnDefinitions"]) if column["name"] == "Created At"}
    rows = []
    for row in table["rows"]:
        cells = ["<time>" if index in dates else _ageless(cell) for index, cell in enumerate(row["cells"])]
        rows.append({"cells": normal(cells), "conditions": row.get("conditions", [])})
    return rows


def _ageless(cell: Any) -> Any:
    return re.sub("^([0-9]+[smhdy])+$", "<age>", cell) if isinstance(cell, str) else cell
