"""Both servers make the same of runtime and storage classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.apiserver.auth.conftest import Both

Object = dict[str, Any]
CORE = "/api/v1/namespaces"
KATA = {
    "metadata": {"name": "kata"},
    "handler": "kata",
    "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}},
    "scheduling": {
        "nodeSelector": {"runtime": "kata"},
        "tolerations": [
            {"key": "a", "operator": "Exists"},
            {"key": "b", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
            {"key": "c", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10},
        ],
    },
}
NARROW = [
    {"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"},
    {"key": "b", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
    {"key": "c", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20},
    {"key": "c", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
]


@pytest.mark.parametrize(
    "spec",
    [
        {"runtimeClassName": "nothing"},
        {"runtimeClassName": "kata"},
        {"runtimeClassName": "kata", "nodeSelector": {"zone": "a"}, "tolerations": NARROW},
        {"runtimeClassName": "kata", "nodeSelector": {"runtime": "runc"}},
        {"runtimeClassName": "kata", "overhead": {"cpu": "0.25", "memory": "64Mi"}},
        {"runtimeClassName": "kata", "overhead": {"cpu": "1"}},
        {"overhead": {"cpu": "1"}},
    ],
)
async def test_pods_with_a_runtime_class(both: Both, spec: Object) -> None:
    specs = []
    for server in both:
        await server.ask("POST", f"{CORE}/default/serviceaccounts", {"metadata": {"name": "default"}})
        await server.ask("POST", "/apis/node.k8s.io/v1/runtimeclasses", KATA)
        body = {"metadata": {"name": "classy"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
        answer = await server.ask("POST", f"{CORE}/default/pods?dryRun=All", body)
        fields = ("runtimeClassName", "overhead", "nodeSelector", "tolerations")
        made = answer.body.get("spec", {})
        specs.append((answer.status, answer.body.get("message"), [made.get(field) for field in fields]))
    assert specs[0] == specs[1]
