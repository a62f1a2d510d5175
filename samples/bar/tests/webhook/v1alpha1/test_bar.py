# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""The webhooks of Bar v1alpha1, called by an API server."""

import pytest
from kapstan import Forbidden, ObjectMeta, Patch
from kapstan.testing import Environment

from bar_operator.api.v1alpha1.bar import Bar, BarSpec
from bar_operator.webhook.v1alpha1.bar import default, validate


def test_whoever_renames_is_warned() -> None:
    old, new = (Bar(metadata=ObjectMeta(name="x"), spec=BarSpec(deployment_name=name)) for name in ("a", "b"))
    assert validate(new, old) == ["Deployment 'a' will be deleted, and 'b' made in its place"]
    assert validate(new, None) == validate(new, new) == []


async def test_names_are_filled_in_and_checked(env: Environment) -> None:
    await env.install(Bar)
    metadata = ObjectMeta(name="sample", namespace=await env.namespace())
    async with env.run(default, validate):
        bar = await env.client.create(Bar(metadata=metadata))
        assert (bar.spec.deployment_name, bar.spec.replicas) == ("sample", 1)
        with pytest.raises(Forbidden, match=r"spec\.deploymentName 'Not A Name': a lowercase RFC 1123 subdomain"):
            await env.client.patch(bar, Patch.merge({"spec": {"deploymentName": "Not A Name"}}))
