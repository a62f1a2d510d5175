"""Admission policies: the same policies on both servers, the same writes, the same answers.

A real server takes a second to notice policies. So all cases of a test, each in a namespace of its own, are set up
first; when the last policy, which refuses everything in its namespace, is in force, so are those before it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.apiserver.auth.conftest import normal
from tests.integration.apiserver.auth.policies.cases import (
    CONFIG_MAP,
    CORE,
    CREATE,
    Case,
    Object,
    Write,
    applied,
    check,
    rule,
)
from tests.integration.apiserver.auth.policies.mutating import MUTATING
from tests.integration.apiserver.auth.policies.refused import MUTATIONS, POLICIES
from tests.integration.apiserver.auth.policies.validating import VALIDATING

if TYPE_CHECKING:
    from tests.integration.apiserver.auth.conftest import Answer, Both, Server

pytestmark = pytest.mark.real

_GENERATED = re.compile("gen-[a-z0-9]{5}")
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"


async def set_up(server: Server, kind: str, name: str, case: Case) -> None:
    """Namespace, what is to be there before the policy, policy and binding."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": name}}
    await server.create(CORE, {"metadata": {"name": name}})
    for write in case.before:
        await ask(server, write, name)
    constraints = {"resourceRules": [rule()], **case.spec.get("matchConstraints", {})}
    constraints = {"namespaceSelector": selector, **constraints}
    await server.create(
        f"{REGISTRATION}/{kind}admissionpolicies",
        {"metadata": {"name": name}, "spec": {**case.spec, "matchConstraints": constraints}},
    )
    actions = {"validationActions": ["Deny"]} if kind == "validating" else {}
    body = {"metadata": {"name": f"{name}-b"}, "spec": {"policyName": name, **actions, **case.binding}}
    await server.create(f"{REGISTRATION}/{kind}admissionpolicybindings", body)


def comparable(answer: Answer) -> Any:
    """Without what differs from time to time, the ends of generated names included."""
    return json.loads(_GENERATED.sub("gen-*", json.dumps(normal(answer))))


async def ask(server: Server, write: Write, namespace: str) -> Answer:
    path = write.path.format(ns=namespace)
    return await server.ask(write.method, path, write.body, content_type=write.content_type)


async def tear_down(server: Server, kind: str, names: list[str]) -> None:
    for name in names:
        await server.ask("DELETE", f"{REGISTRATION}/{kind}admissionpolicybindings/{name}-b")
        await server.ask("DELETE", f"{REGISTRATION}/{kind}admissionpolicies/{name}")


async def compare(both: Both, kind: str, cases: dict[str, Case], last: Case) -> None:
    prefix = f"{kind[:3]}-"
    found: dict[str, dict[str, Any]] = {}
    for server in both:
        every = {**cases, "last": last}
        try:
            for name, case in every.items():
                await set_up(server, kind, prefix + name, case)
            probe = CREATE.path.format(ns=f"{prefix}last")
            await server.until_not("POST", f"{probe}?dryRun=All", 201, body=CONFIG_MAP)
            found[server.name] = {
                f"{name}: {write.method} {write.path}": comparable(await ask(server, write, prefix + name))
                for name, case in cases.items()
                for write in case.writes
            }
        finally:
            await tear_down(server, kind, [prefix + name for name in every])
    ours, theirs = found["embedded"], found["real"]
    wrong = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
    shown = "\n".join(
        f"{name}\n  embedded: {json.dumps(one)}\n  real:     {json.dumps(other)}"
        for name, (one, other) in wrong.items()
    )
    assert not wrong, f"{len(wrong)} of {len(ours)} differ\n{shown}"


async def test_validating_policies(both: Both) -> None:
    """Matching, parameters, variables, conditions, messages, reasons, actions and failures."""
    await compare(both, "validating", VALIDATING, Case(check("false")))


async def test_mutating_policies(both: Both) -> None:
    """Applied configurations and JSON patches, what does not suit the object, reinvocation and failures."""
    await compare(both, "mutating", MUTATING, Case(applied("Object{data: {'x': object.data.nope}}")))


@pytest.mark.parametrize(("kind", "specs"), [("validating", POLICIES), ("mutating", MUTATIONS)])
async def test_policies_are_accepted_and_refused_alike(both: Both, kind: str, specs: dict[str, Object]) -> None:
    """Compile errors, required fields and defaults."""
    wrong = []
    for name, spec in specs.items():
        body = {"metadata": {"name": f"refused-{name}"}, "spec": spec}
        path = f"{REGISTRATION}/{kind}admissionpolicies"
        ours, theirs = [normal(await server.ask("POST", f"{path}?dryRun=All", body)) for server in both]
        if ours != theirs:
            wrong.append(f"{name}\n  embedded: {json.dumps(ours)}\n  real:     {json.dumps(theirs)}")
    assert not wrong, f"{len(wrong)} of {len(specs)} differ\n" + "\n".join(wrong)
