"""Who competes with whom for the work on a cluster."""

from __future__ import annotations

from kapstan.cluster.management.election import election_id
from kapstan.cluster.management.providers import ALL


def test_whoever_runs_the_same_providers_competes_for_the_same_lease() -> None:
    """In whatever order they are named; whoever runs others does not stand in the way."""
    assert election_id(ALL) == election_id(tuple(reversed(ALL))) == "manager.kapstan.dev"
    assert (
        election_id(("simulated", "hosted")) == election_id(("hosted", "simulated")) == "hosted-simulated.kapstan.dev"
    )
    assert election_id(["core"]) == "core.kapstan.dev"
