"""Limit ranges: containers get what they do not ask for, and nobody gets more than the range allows."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.apiserver.registry.api import API
from kapstan.machinery.errors import Forbidden

Object = dict[str, Any]


@pytest.fixture
async def limited(api: API) -> API:
    await api.create(_named("ServiceAccount", "default"))
    return api


def _named(kind: str, name: str, **more: Any) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, **more}


async def _range(api: API, **limit: Any) -> None:
    await api.create(_named("LimitRange", "r", spec={"limits": [limit]}))


async def _pod(api: API, **resources: Any) -> Object:
    spec = {"containers": [{"name": "c", "image": "i", "resources": resources}]}
    return await api.create(_named("Pod", "p", spec=spec))


async def test_a_silent_container_gets_the_defaults_and_an_annotation_says_so(limited: API) -> None:
    await _range(limited, type="Container", default={"cpu": "1"}, defaultRequest={"cpu": "100m", "memory": "1Mi"})
    pod = await _pod(limited, requests={"memory": "2Mi"})
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"cpu": "1"}, "requests": {"cpu": "100m", "memory": "2Mi"}}
    note = pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
    assert note == "LimitRanger plugin set: cpu request for container c; cpu limit for container c"


@pytest.mark.parametrize(
    ("kind", "limit", "resources", "why"),
    [
        ("Pod", {"max": {"cpu": "1"}}, {}, "maximum cpu usage per Pod is 1.  No limit is specified"),
        (
            "Container",
            {"max": {"cpu": "1"}},
            {"limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            "Container",
            {"min": {"cpu": "1"}},
            {"requests": {"cpu": "1m"}},
            "minimum cpu usage per Container is 1, but request is 1m",
        ),
        (
            "Container",
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
    ],
)
async def test_what_is_out_of_range_is_refused(
    limited: API, kind: str, limit: Object, resources: Object, why: str
) -> None:
    await _range(limited, type=kind, **limit)
    with pytest.raises(Forbidden) as refusal:
        await _pod(limited, **resources)
    assert str(refusal.value).endswith(f'pods "p" is forbidden: {why}')


async def test_claims_are_judged_by_what_they_request(limited: API) -> None:
    await _range(limited, type="PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "2Gi"})
    for storage, why in (("1Mi", "minimum storage usage"), ("3Gi", "maximum storage usage")):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
        with pytest.raises(Forbidden, match=f"{why} per PersistentVolumeClaim is .Gi, but request is {storage}"):
            await limited.create(_named("PersistentVolumeClaim", "c", spec=spec))
