"""Providers: each kind and each webhook is one provider's, and a list of names chooses them."""

from __future__ import annotations

import pytest

from kapstan.cluster.api.core import Cluster
from kapstan.cluster.api.infrastructure import SimulatedMachine
from kapstan.cluster.management.kinds import KINDS, WEBHOOKS
from kapstan.cluster.management.providers import ALL, kinds_of, providers_named, webhooks_of
from kapstan.machinery.errors import ConfigError


def test_every_kind_and_every_webhook_is_of_one_provider() -> None:
    assert sorted(kind.__name__ for one in ALL for kind in kinds_of([one])) == sorted(one.__name__ for one in KINDS)
    assert sorted(hook.__name__ for one in ALL for hook in webhooks_of([one])) == sorted(
        one.__name__ for one in WEBHOOKS
    )
    assert Cluster in kinds_of(["core"])
    assert SimulatedMachine in kinds_of(["simulated", "hosted"])
    assert SimulatedMachine not in kinds_of(["core", "hosted"])


def test_names_choose_providers_in_the_order_in_which_they_are_added() -> None:
    assert providers_named("simulated, core") == ("core", "simulated")


@pytest.mark.parametrize("names", ["core,docker", ",", " "])
def test_what_is_no_provider_is_refused_with_those_that_there_are(names: str) -> None:
    with pytest.raises(ConfigError, match="there are core, hosted, simulated"):
        providers_named(names)
