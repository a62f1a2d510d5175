"""Who competes with whom for the work on a cluster."""

from __future__ import annotations

from kapstan.cluster.management.election import leases_of
from kapstan.cluster.management.providers import ALL


def test_each_provider_has_a_lease_and_everybody_takes_them_in_one_order() -> None:
    """In whatever order they are named: whoever has a provider in common competes for its lease."""
    assert leases_of(ALL) == leases_of(tuple(reversed(ALL)))
    assert leases_of(("simulated", "core")) == ("core.kapstan.dev", "simulated.kapstan.dev")
    assert not set(leases_of(["core"])) & set(leases_of(("hosted", "simulated")))
