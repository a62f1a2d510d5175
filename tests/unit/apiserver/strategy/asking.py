"""Asking an API server about built-in kinds, and what of its answers must be the same on every server."""

from __future__ import annotations

import base64
import copy
import io
import json
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from tests.unit.apiserver.strategy.cases.changed import CHANGES, Change
from tests.unit.apiserver.strategy.cases.objects import CASES
from tests.unit.apiserver.strategy.cases.refused import REFUSED
from tests.unit.apiserver.strategy.cases.statuses import STATUSES
from tests.unit.apiserver.strategy.cases.warned import WARNED

from kapstan.apiserver.admission.serviceaccount import ServiceAccountAdmission
from kapstan.apiserver.registry.builtins import builtin_kinds
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.testing.environment import Environment
from kapstan.testing.servers import EmbeddedAPIServer

__all__ = ("QUESTIONS", "VECTORS", "Answer", "Question", "Server", "bare", "normal", "outcome")

Object = dict[str, Any]

VECTORS = Path(__file__).parent / "vectors"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Answer(NamedTuple):
    status: int
    body: Any
    warnings: list[str]


class Server:
    """One API server, asked as its administrator."""

    def __init__(self, env: Environment, folder: Path) -> None:
        config = env.server.kubeconfig()
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        pem = folder / f"{env.name}.pem"
        pem.touch(mode=0o600)
        parts = ("client-certificate-data", "client-key-data")
        pem.write_bytes(b"\n".join(base64.b64decode(user[part]) for part in parts))
        context.load_cert_chain(pem)
        self._url = cluster["server"]
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "application/json",
        content_type: str = "application/json",
    ) -> Answer:
        headers = {"Accept": accept, "Content-Type": content_type}
        data = io.BytesIO(json.dumps(body).encode()) if body is not None else None
        async with self._session.request(method, self._url + path, data=data, headers=headers) as response:
            text = await response.text()
            warnings = response.headers.getall("Warning", [])
        return Answer(response.status, json.loads(text), warnings)

    async def negotiate(self, path: str, accept: str) -> list[Any]:
        """How a path is answered to who accepts that, and to who has the answer already."""
        found: list[Any] = []
        etag = ""
        for _ in range(2):
            headers = {"Accept": accept, "If-None-Match": etag}
            async with self._session.get(self._url + path, headers=headers) as response:
                body, etag = await response.read(), response.headers.get("ETag", "")
                type = response.headers["Content-Type"] if body else ""
                found += [response.status, type, response.headers["Vary"], len(etag)]
        return found

    def path(self, obj: Object, *more: str) -> str:
        """Where objects of a kind are, or what is below one of them."""
        kind = builtin_kinds().kind(GroupVersionKind.of(obj["apiVersion"], obj["kind"]))
        assert kind is not None
        base = f"/apis/{obj['apiVersion']}" if "/" in obj["apiVersion"] else f"/api/{obj['apiVersion']}"
        where = "/namespaces/default" if kind.namespaced else ""
        return "/".join([f"{base}{where}/{kind.gvr.resource}", *more])

    async def create(self, obj: Object, query: str = "") -> Answer:
        return await self.ask("POST", self.path(obj) + query, obj)

    async def merge(self, obj: Object, patch: Object, subresource: str = "") -> Answer:
        more = [obj["metadata"]["name"], *([subresource] if subresource else [])]
        return await self.ask("PATCH", self.path(obj, *more), patch, content_type="application/merge-patch+json")

    async def delete(self, obj: Object) -> None:
        await self.ask("DELETE", self.path(obj, obj["metadata"]["name"]) + "?gracePeriodSeconds=0")

    async def close(self) -> None:
        await self._session.close()


def bare(env: Environment) -> Environment:
    """Without controllers, and so without the admission of service accounts: like a kube-apiserver alone."""
    assert isinstance(env.server, EmbeddedAPIServer)
    server = env.server.server
    assert server.endpoint.controllers is not None
    server.endpoint.controllers.close()
    admission = server.cluster.admission
    admission.plugins = tuple(one for one in admission.plugins if not isinstance(one, ServiceAccountAdmission))
    return env


# What is compared -----------------------------------------------------------------------------------------------------

_UNIQUE = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # uids
    r"|10\.(9[6-9]|10[0-9]|11[01])\.[0-9]+\.[0-9]+"  # addresses of services
)
_CHANGING = {"uid", "resourceVersion", "creationTimestamp", "managedFields"}
_GIVEN_OUT = {"nodePort", "healthCheckNodePort", "lastPhaseTransitionTime", "lastTransitionTime"}
# Put on by admission plugins that the embedded server does not have.
_PROTECTION = {"kubernetes.io/pv-protection", "kubernetes.io/pvc-protection", "kubernetes.io/vac-protection"}


def normal(value: Any) -> Any:
    """Without what differs from server to server and from time to time."""
    if isinstance(value, dict):
        found = {key: normal(item) for key, item in value.items() if key not in _CHANGING}
        for key in _GIVEN_OUT & found.keys():
            found[key] = "<any>" if found[key] else found[key]
        if _PROTECTION & set(found.get("finalizers") or ()):
            del found["finalizers"]
        return found
    if isinstance(value, list):
        return [normal(item) for item in value]
    return _UNIQUE.sub("<unique>", value) if isinstance(value, str) else value


def outcome(answer: Answer) -> Object:
    """The object that a server answers with, or what it has against the request.

    Go's comparisons of structs, which follow a line break, are left out, and so is the order of causes: Go goes through
    maps as it likes.
    """
    if answer.status < 300:
        return {"status": answer.status, "body": normal(answer.body)}
    details = answer.body.get("details") or {}
    causes = {
        (cause.get("field", ""), cause["reason"], normal(cause["message"].partition("\n")[0]))
        for cause in details.get("causes") or ()
    }
    found = {key: details[key] for key in ("group", "kind") if key in details}
    if not causes:
        found["message"] = normal(answer.body["message"].partition("\n")[0])
    return {"status": answer.status, "details": found, "causes": [list(cause) for cause in sorted(causes)]}


# Questions ------------------------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """What is asked of every one of several cases."""

    ask: Callable[[Server, str], Awaitable[Object]]
    cases: tuple[str, ...]


async def _create(server: Server, obj: Object) -> Answer:
    return await server.create(obj, "?dryRun=All")


async def _defaults(server: Server, case: str) -> Object:
    return outcome(await _create(server, CASES[case]))


async def _refused(server: Server, case: str) -> Object:
    return outcome(await _create(server, REFUSED[case]))


async def _warned(server: Server, case: str) -> Object:
    answer = await _create(server, WARNED[case])
    return {"status": answer.status, "warnings": sorted(answer.warnings)}


async def _changed(server: Server, case: str) -> Object:
    change: Change = CHANGES[case]
    obj = _named(CASES[change.case], f"changed {case}")
    created = await server.create(obj)
    assert created.status == 201, created
    answer = await server.merge(obj, change.patch, change.subresource)
    await server.delete(obj)
    return outcome(answer)


async def _table(server: Server, case: str) -> Object:
    obj = _named(CASES[case], f"table {case}")
    created = await server.create(obj)
    assert created.status == 201, created
    if case in STATUSES:
        changed = await server.merge(created.body, {"status": STATUSES[case]}, "status")
        assert changed.status == 200, changed
    answer = await server.ask("GET", server.path(obj, obj["metadata"]["name"]), accept=TABLE)
    await server.delete(created.body)
    assert answer.status == 200, answer
    return {"columns": _columns(answer.body), "rows": _rows(answer.body)}


def _named(obj: Object, name: str) -> Object:
    """A copy with a name of its own, except for kinds whose names say something."""
    found = copy.deepcopy(obj)
    if found["kind"] not in ("APIService", "CSIDriver", "IPAddress"):
        found["metadata"]["name"] = re.sub("[^a-z0-9]+", "-", name.lower())
    return found


def _columns(table: Object) -> list[Object]:
    """What each column is; the descriptions are our own."""
    fields = ("name", "type", "format", "priority")
    return [{field: column[field] for field in fields} for column in table["columnDefinitions"]]


def _rows(table: Object) -> list[Object]:
    """There may be more cells than columns: addresses of services have an age that no column announces."""
    dates = {index for index, column in enumerate(table["columnDefinitions"]) if column["name"] == "Created At"}
    rows = []
    for row in table["rows"]:
        cells = ["<time>" if index in dates else _ageless(cell) for index, cell in enumerate(row["cells"])]
        rows.append({"cells": normal(cells), "conditions": row.get("conditions", [])})
    return rows


def _ageless(cell: Any) -> Any:
    return re.sub(r"(^|\()([0-9]+[smhdy])+(?=$| ago\))", r"\1<age>", cell) if isinstance(cell, str) else cell


# A real server fills in the status of these at once.
_FILLED_IN = ("api service", "flow schema")

QUESTIONS: Mapping[str, Question] = {
    "defaults": Question(_defaults, tuple(CASES)),
    "refused": Question(_refused, tuple(REFUSED)),
    "warned": Question(_warned, tuple(WARNED)),
    "changed": Question(_changed, tuple(CHANGES)),
    "tables": Question(_table, tuple(case for case in CASES if case not in _FILLED_IN)),
}
