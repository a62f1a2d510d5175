"""Pod security: the labels of a namespace decide what its pods may do."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.apiserver.admission.podsecurity.checks import violations
from kapstan.apiserver.admission.podsecurity.pod import Pod
from kapstan.apiserver.admission.podsecurity.policy import LATEST, Level, policy_of
from kapstan.apiserver.registry.api import API
from kapstan.machinery.errors import Forbidden, Invalid
from kapstan.machinery.gvk import GroupVersionKind

Object = dict[str, Any]
NAMESPACE = GroupVersionKind("", "v1", "Namespace")
PREFIX = "pod-security.kubernetes.io/"
SECURE: Object = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def reasons(level: Level, spec: Object, *contexts: Object) -> list[str]:
    containers = [{"name": f"c{number}", "securityContext": one} for number, one in enumerate(contexts)]
    return [one.reason for one in violations(level, Pod({}, {"containers": containers, **spec}))]


def test_a_pod_that_gives_up_everything_passes_every_level() -> None:
    for level in ("privileged", "baseline", "restricted"):
        assert reasons(Level(level), {}, SECURE) == []


def test_the_restricted_level_wants_things_said() -> None:
    assert reasons(Level("baseline"), {}, {}) == []
    wanted = [
        "allowPrivilegeEscalation != false",
        "unrestricted capabilities",
        "runAsNonRoot != true",
        "seccompProfile",
    ]
    assert reasons(Level("restricted"), {}, {}) == wanted


def test_older_rules_are_kept_under_their_version() -> None:
    sysctls = {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}}
    assert reasons(Level("baseline", 31), sysctls, SECURE) == ["forbidden sysctls"]
    assert reasons(Level("baseline", 32), sysctls, SECURE) == []
    own_users = {"hostUsers": False}
    as_root = {**SECURE, "runAsUser": 0}
    assert reasons(Level("restricted", 34), own_users, as_root) == ["runAsUser=0"]
    assert reasons(Level("restricted"), own_users, as_root) == []


def test_a_mistaken_label_is_as_strict_as_can_be() -> None:
    policy, errors = policy_of({f"{PREFIX}enforce": "tight", f"{PREFIX}warn": "loose", f"{PREFIX}audit-version": "2"})
    assert policy.enforce == Level("restricted")
    assert policy.warn == Level("privileged", LATEST)
    assert len(errors) == 3


@pytest.fixture
async def labelled(api: API) -> API:
    await api.create(_object("ServiceAccount", "default"))
    await api.patch(NAMESPACE, "default", "", {"metadata": {"labels": {f"{PREFIX}enforce": "baseline"}}})
    return api


def _object(kind: str, name: str, **more: Any) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, **more}


async def test_a_pod_beyond_the_level_is_refused(labelled: API) -> None:
    spec: Object = {"containers": [{"name": "c", "image": "i"}], "hostNetwork": True}
    with pytest.raises(Forbidden) as refusal:
        await labelled.create(_object("Pod", "p", spec=spec))
    why = 'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    assert str(refusal.value).endswith(why)
    await labelled.create(_object("Pod", "p", spec={**spec, "hostNetwork": False}))


async def test_a_namespace_does_not_take_a_level_that_there_is_not(labelled: API) -> None:
    with pytest.raises(Invalid, match="must be one of privileged, baseline, restricted"):
        await labelled.patch(NAMESPACE, "default", "", {"metadata": {"labels": {f"{PREFIX}warn": "tight"}}})
