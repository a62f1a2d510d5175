"""How many pods each ReplicaSet may have: rollouts end, and keep their promises at every step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.simulation.objects import deployment, replica_set, rolling

from kapstan.k8s.apps_v1 import ReplicaSet
from kapstan.simulation.deployment import scaling


@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "expected"),
    [
        ("25%", "25%", 4, (1, 1)),
        ("25%", "25%", 3, (1, 0)),
        ("10%", "10%", 3, (1, 0)),
        (0, 0, 3, (0, 1)),
        (2, 0, 1, (2, 0)),
    ],
)
def test_limits_round_surge_up_and_unavailability_down(
    surge: int | str, unavailable: int | str, replicas: int, expected: tuple[int, int]
) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    assert scaling.limits(deployment(replicas, strategy=strategy)) == expected


def test_what_is_not_available_goes_first() -> None:
    """Pods of an old revision that serve nobody make room without being missed."""
    web = deployment(4, strategy=rolling(1, 1))
    new = replica_set("new", 1, 0)
    broken, fine = replica_set("broken", 1, 0, age=10), replica_set("fine", 3, 3, age=20)
    assert scaling.old_sizes(web, new, [broken, fine]) == {"fine": 3, "broken": 0}


def test_sets_share_a_change_in_proportion() -> None:
    web = deployment(12, strategy=rolling(3, 1))
    sets = [replica_set("old", 8, 8, age=9, max_replicas="13"), replica_set("new", 5, 0, max_replicas="13")]
    assert scaling.proportional_sizes(web, sets) == {"old": 9, "new": 6}


def test_a_deployment_scaled_to_nothing_has_sets_of_nothing() -> None:
    sets = [replica_set("old", 3, 3, age=9, max_replicas="5"), replica_set("new", 1, 0, max_replicas="5")]
    assert scaling.proportional_sizes(deployment(0), sets) == {"old": 0, "new": 0}


@given(
    want=st.integers(0, 12),
    surge=st.integers(0, 4),
    unavailable=st.integers(0, 4),
    old=st.integers(0, 12),
    data=st.data(),
)
def test_a_rollout_ends_and_keeps_its_promises(
    want: int, surge: int, unavailable: int, old: int, data: st.DataObject
) -> None:
    """Whatever becomes available when: never too many pods, never too few available ones by our doing."""
    web = deployment(want, strategy=rolling(surge, unavailable))
    most, spare = (sum(pair) for pair in zip(scaling.limits(web), (want, 0), strict=True))
    have = {"old": min(old, want), "new": 0}
    ready = dict(have)
    for _ in range(200):
        sets = {name: replica_set(name, have[name], ready[name]) for name in have}
        before = sum(ready.values())
        have |= _step(web, sets)
        for name in have:
            ready[name] = min(ready[name], have[name])
        assert sum(have.values()) <= max(most, want)
        assert sum(ready.values()) >= min(before, want - spare)
        waiting = [name for name in have if ready[name] < have[name]]
        if waiting:
            name = data.draw(st.sampled_from(waiting))
            ready[name] += 1
        elif have == {"old": 0, "new": want}:
            return
    raise AssertionError(f"the rollout did not end: {have}, {ready} available")


def _step(web: object, sets: dict[str, ReplicaSet]) -> dict[str, int]:
    """As the reconciler does it: more of the new, or else fewer of the old."""
    new, old = sets["new"], sets["old"]
    size = scaling.new_size(web, new, [new, old])  # type: ignore[arg-type]
    if size != scaling.replicas(new):
        return {"new": size}
    return dict(scaling.old_sizes(web, new, [old]))  # type: ignore[arg-type]


@given(
    st.integers(1, 20),
    st.integers(0, 5),
    st.lists(st.integers(1, 15), min_size=2, max_size=4),
)
def test_shares_always_make_the_whole(want: int, surge: int, sizes: list[int]) -> None:
    web = deployment(want, strategy=rolling(surge, 1))
    most = str(sum(sizes))
    sets = [replica_set(str(age), size, age=age, max_replicas=most) for age, size in enumerate(sizes)]
    shared = scaling.proportional_sizes(web, sets)
    assert min(shared.values()) >= 0
    assert sum(shared.values()) == want + surge or sum(shared.values()) >= sum(sizes) > want + surge
