"""A pod's life on a simulated node, moment by moment; addresses; what annotations change."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.simulation.objects import NOW, pod

from kapstan.apiserver.strategy import typed
from kapstan.k8s.core_v1 import Pod
from kapstan.machinery.codec import convert, to_builtins
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.simulation import NodeSpec, Timing
from kapstan.simulation.kubelets.addresses import PodAddresses, Ranges
from kapstan.simulation.kubelets.behaviour import behaviour_of
from kapstan.simulation.kubelets.node import internal_ip
from kapstan.simulation.kubelets.pod import Addresses, Progress, progress

POD = GroupVersionKind("", "v1", "Pod")
HERE = Addresses("172.16.0.1", "10.128.0.5")


def after(one: Pod, seconds: float, timing: Timing) -> Progress:
    return progress(one, behaviour_of(one, timing), HERE, NOW, NOW + timedelta(seconds=seconds))


def conditions(step: Progress) -> dict[str, str]:
    return {one.type: one.status for one in step.status.conditions}


def test_a_pod_is_pending_then_running_then_ready() -> None:
    timing = Timing(start=2, ready=3)
    pending, running, ready = (after(pod(), seconds, timing) for seconds in (0.5, 2, 5))
    assert (pending.status.phase, pending.again, pending.status.pod_ip) == ("Pending", 1.5, None)
    assert pending.status.container_statuses[0].state is not None
    assert pending.status.container_statuses[0].state.waiting is not None
    assert (running.status.phase, running.again, running.status.pod_ip) == ("Running", 3, "10.128.0.5")
    assert (conditions(running)["Ready"], conditions(running)["PodScheduled"]) == ("False", "True")
    assert (ready.again, conditions(ready)["Ready"], conditions(ready)["ContainersReady"]) == (None, "True", "True")


def test_what_has_not_changed_is_not_written_again() -> None:
    one = pod()
    one.status = after(one, 0, Timing()).status
    assert after(one, 100, Timing()).status == one.status


def test_what_an_api_server_makes_of_it_is_not_written_again() -> None:
    """API servers add fields that are never absent; a kubelet that left them out would always find a difference."""
    one = pod(spec={"initContainers": [{"name": "first", "image": "i"}]})
    one.status = after(one, 0, Timing()).status
    stored = to_builtins(one)
    shape = typed.struct_of(POD)
    assert shape is not None
    typed.shape(shape, stored)
    known = convert(stored, Pod)
    assert to_builtins(after(known, 100, Timing()).status) == to_builtins(known.status)


def test_init_containers_are_over_before_others_begin_and_sidecars_stay() -> None:
    first, sidecar = {"name": "first", "image": "i"}, {"name": "side", "image": "s", "restartPolicy": "Always"}
    one = pod(spec={"initContainers": [first, sidecar]})
    waiting = after(one, 0, Timing(start=1))
    assert conditions(waiting)["Initialized"] == "False"
    over, stays = after(one, 1, Timing(start=1)).status.init_container_statuses
    assert over.state is not None and over.state.terminated is not None and over.state.terminated.reason == "Completed"
    assert stays.state is not None and stays.state.running is not None


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [
        ("Never", None, "Succeeded"),
        ("OnFailure", None, "Succeeded"),
        ("Never", "3", "Failed"),
        ("OnFailure", "3", "Running"),
        ("Always", "0", "Running"),
        ("Always", None, "Running"),
    ],
)
def test_how_a_pod_ends_follows_from_policy_and_exit_code(policy: str, code: str | None, phase: str) -> None:
    annotations = {"simulation.kapstan.dev/exit-code": code} if code else {}
    one = pod(spec={"restartPolicy": policy}, metadata={"annotations": annotations})
    step = after(one, 5, Timing(complete=2))
    assert step.status.phase == phase
    crashes = code is not None and phase == "Running"
    assert (step.status.container_statuses[0].restart_count == 1) is crashes
    assert conditions(step)["Ready"] == ("True" if code is None and phase == "Running" else "False")


def test_readiness_waits_for_the_probe_and_for_gates() -> None:
    probed: dict[str, Any] = {"name": "c", "image": "c", "readinessProbe": {"initialDelaySeconds": 10}}
    one = pod(spec={"containers": [probed], "readinessGates": [{"conditionType": "example.com/open"}]})
    assert after(one, 4, Timing()).again == 6
    closed = conditions(after(one, 10, Timing()))
    assert (closed["ContainersReady"], closed["Ready"]) == ("True", "False")


def test_annotations_speak_for_one_pod_and_nonsense_says_nothing() -> None:
    annotations = {
        f"simulation.kapstan.dev/{key}": value for key, value in {"ready-after": "1m", "stop-after": "x"}.items()
    }
    behaviour = behaviour_of(pod(metadata={"annotations": annotations}), Timing(ready=1, stop=7))
    assert (behaviour.ready, behaviour.stop) == (60, 7)


def test_a_pod_that_waits_never_starts() -> None:
    one = pod(metadata={"annotations": {"simulation.kapstan.dev/waiting": "ImagePullBackOff"}})
    step = after(one, 1000, Timing())
    assert (step.status.phase, step.again) == ("Pending", None)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=60))
def test_no_two_pods_have_the_same_address(steps: list[tuple[int, bool]]) -> None:
    addresses = PodAddresses("10.0.0.0/27")
    held: dict[int, str] = {}
    for number, stays in steps:
        if stays:
            held[number] = addresses.of(f"pod-{number}", held.get(number))
        elif held.pop(number, None):
            addresses.release(f"pod-{number}")
    assert len({*held.values()}) == len(held)


def test_a_full_range_is_an_error_and_an_address_that_is_known_is_kept() -> None:
    addresses = PodAddresses("10.0.0.0/30")
    assert addresses.of("a", "10.0.0.2") == addresses.of("a") == "10.0.0.2"
    assert addresses.of("b") == "10.0.0.1"
    with pytest.raises(ValueError, match="taken"):
        addresses.of("c")


def test_ranges_of_others_are_left_alone() -> None:
    ranges = Ranges("10.0.0.0/22")
    ranges.note(["10.0.0.0/24", "10.0.2.0/24"])
    assert [ranges.take(), ranges.take()] == ["10.0.1.0/24", "10.0.3.0/24"]
    with pytest.raises(ValueError, match="no range"):
        ranges.take()


def test_a_node_without_addresses_always_has_the_same_one() -> None:
    assert internal_ip(NodeSpec(name="a")) == internal_ip(NodeSpec(name="a", cpu="9"))
    assert internal_ip(NodeSpec(name="a", addresses=(("InternalIP", "10.1.1.1"),))) == "10.1.1.1"
