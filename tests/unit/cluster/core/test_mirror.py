"""Conditions of providers, shown on those who refer to them."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.cluster.api.core import Cluster
from kapstan.cluster.api.core.cluster import ClusterSpec
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.contract.objects import InfraCluster
from kapstan.cluster.contract.version import Contract
from kapstan.cluster.core.external import Referenced
from kapstan.cluster.core.mirror import Mirror
from kapstan.machinery.meta import ObjectMeta, now

READY = Mirror("InfrastructureReady", "Ready", "status.initialization.provisioned")
REF = ContractReference(api_group="g.example.com", kind="Generic", name="x")


def referenced(
    document: dict[str, Any] | None = None, *, error: Exception | None = None, contract: str = "v1beta2"
) -> Referenced[InfraCluster]:
    result = Referenced[InfraCluster](REF)
    result.error, result._loaded = error, error is None
    if document is not None:
        result.found = InfraCluster(
            {"kind": "Generic", "metadata": {"name": "x"}, **document}, Contract(contract, "v1")
        )
    return result


def reported(**condition: Any) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": "Ready", **condition}]}}


@pytest.mark.parametrize(
    ("of", "done", "deleting", "expected"),
    [
        pytest.param(
            referenced(reported(status="False", reason="Slow", message="in a moment")),
            True,
            False,
            ("False", "Slow", "in a moment"),
            id="as the provider says",
        ),
        pytest.param(
            referenced(reported(status="True"), contract="v1beta1"),
            True,
            False,
            ("True", "Ready", ""),
            id="a true condition of v1beta1 has no reason",
        ),
        pytest.param(
            referenced(reported(status="False")), True, False, ("False", "NoReasonReported", ""), id="no reason"
        ),
        pytest.param(
            referenced(reported(status="False", reason="no quota-left", message="ask"), contract="v1beta1"),
            True,
            False,
            ("False", "NoReasonReported", "no quota-left: ask"),
            id="a reason that the API server would refuse",
        ),
        pytest.param(referenced({}), True, False, ("True", "Ready", ""), id="no condition, but done"),
        pytest.param(
            referenced({}),
            False,
            False,
            ("False", "NotReady", "Generic status.initialization.provisioned is false"),
            id="no condition, and not done",
        ),
        pytest.param(
            referenced(), False, False, ("False", "ObjectDoesNotExist", "Generic does not exist"), id="not there yet"
        ),
        pytest.param(
            referenced(),
            True,
            False,
            ("False", "ObjectDeleted", "Generic has been deleted while the Cluster still exists"),
            id="not there any more",
        ),
        pytest.param(
            referenced(), True, True, ("False", "ObjectDeleted", "Generic has been deleted"), id="gone, as it should"
        ),
        pytest.param(
            referenced(error=ValueError("no answer")),
            True,
            False,
            ("Unknown", "InternalError", "Generic could not be read: no answer"),
            id="not known",
        ),
    ],
)
def test_a_mirrored_condition(
    of: Referenced[InfraCluster], done: bool, deleting: bool, expected: tuple[str, str, str]
) -> None:
    cluster = Cluster(metadata=ObjectMeta(name="c", deletion_timestamp=now() if deleting else None), spec=ClusterSpec())
    condition = READY.of(of, cluster, done=done)
    assert condition.type == "InfrastructureReady"
    assert (condition.status, condition.reason, condition.message) == expected
