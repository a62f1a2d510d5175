"""How an API server is told of the webhooks of a management plane."""

from __future__ import annotations

from kapstan.cluster.management.providers import ALL, Provider
from kapstan.cluster.management.webhooks import address, configurations_of


def names(*providers: Provider) -> set[str]:
    with address() as place:
        found = configurations_of(providers, place)
    return {f"{one['kind']}/{one['metadata']['name']}" for one in found}


def test_providers_of_two_management_planes_do_not_take_each_others_webhooks_away() -> None:
    """Nor does one leave behind what another that runs the same provider does not replace."""
    assert names("core").isdisjoint(names("hosted", "simulated"))
    assert names("core") | names("hosted", "simulated") == names(*ALL)
