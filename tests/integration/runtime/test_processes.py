"""Operators as processes: who leads, who takes over, and how they end."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from kapstan import Client, Config, ObjectMeta
from kapstan.k8s.coordination_v1 import Lease
from kapstan.k8s.core_v1 import ConfigMap

# Of somebody whom no server knows.
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "{server}", insecure-skip-tls-verify: true}}}}]
users: [{{name: u, user: {{token: wrong-token}}}}]
"""
PROGRAM = Path(__file__).parent / "programs" / "operator_of_config_maps.py"


class Operator:
    """A running operator and what it has said."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name, self.process = name, process

    async def said(self) -> str:
        """Everything that it says to its end."""
        assert self.process.stderr is not None
        return (await self.process.stderr.read()).decode()

    async def heard(self, text: str) -> str:
        """What it says up to the line that has this text."""
        assert self.process.stderr is not None
        said = ""
        async with asyncio.timeout(120):
            while text not in said:
                line = await self.process.stderr.readline()
                assert line, f"it ended without having said {text!r}: {said}"
                said += line.decode()
        return said


@asynccontextmanager
async def operator(kubeconfig: Path, name: str, namespace: str, *flags: str) -> AsyncIterator[Operator]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(PROGRAM),
        name,
        namespace,
        f"--kubeconfig={kubeconfig}",
        "--health-probe-bind-address=0",
        *flags,
        stderr=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    try:
        yield Operator(name, process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def create(client: Client, name: str, namespace: str) -> None:
    await client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace)))


async def until(
    client: Client, name: str, namespace: str, condition: Callable[[dict[str, str]], object]
) -> dict[str, str]:
    async with asyncio.timeout(120):
        while True:
            data = (await client.get(ConfigMap, name, namespace)).data
            if condition(data):
                return data
            await asyncio.sleep(0.05)


async def test_a_standby_takes_over_from_a_leader_that_was_killed(
    kubeconfig: Path, client: Client, namespace: str
) -> None:
    """Not before the lease has run out; and before as after, only one of the two ever writes.

    How soon after that is shown with fake time: here it depends on how busy the machine is.
    """
    await create(client, "log", namespace)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(operator(kubeconfig, "first", namespace, "--leader-elect"))
        await until(client, "log", namespace, lambda data: "first" in data.values())
        second = await stack.enter_async_context(operator(kubeconfig, "second", namespace, "--leader-elect"))
        await second.heard("Attempting to acquire leader lease")
        first.process.send_signal(signal.SIGKILL)
        await first.process.wait()
        killed = time.time_ns()
        left = await client.get(Lease, "scribe", namespace)
        data = await until(client, "log", namespace, lambda data: "second" in data.values())
    taken = min(int(when) for when, who in data.items() if who == "second")
    last = max(int(when) for when, who in data.items() if who == "first")
    assert last <= killed
    assert left.spec.renew_time is not None and left.spec.lease_duration_seconds == 15
    assert taken / 1e9 - left.spec.renew_time.timestamp() > left.spec.lease_duration_seconds
    assert taken > last, "never two leaders"


async def test_a_leader_that_is_stopped_hands_over_at_once(kubeconfig: Path, client: Client, namespace: str) -> None:
    await create(client, "log", namespace)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(operator(kubeconfig, "first", namespace, "--leader-elect"))
        await until(client, "log", namespace, lambda data: "first" in data.values())
        second = await stack.enter_async_context(operator(kubeconfig, "second", namespace, "--leader-elect"))
        await second.heard("Attempting to acquire leader lease")
        held = await client.get(Lease, "scribe", namespace)
        first.process.terminate()
        assert await first.process.wait() == 0
        left = await client.get(Lease, "scribe", namespace)
        assert left.spec.holder_identity != held.spec.holder_identity, "released, or taken over already"
        await until(client, "log", namespace, lambda data: "second" in data.values())
        lease = await client.get(Lease, "scribe", namespace)
        assert lease.spec.lease_transitions == 1


async def test_a_leader_whose_lease_is_taken_away_ends_at_once(
    kubeconfig: Path, client: Client, namespace: str
) -> None:
    await create(client, "log", namespace)
    async with operator(kubeconfig, "first", namespace, "--leader-elect") as first:
        await until(client, "log", namespace, lambda data: "first" in data.values())
        async with client.edit(await client.get(Lease, "scribe", namespace)) as lease:
            lease.spec.holder_identity = "thief"
        assert await first.process.wait() == 1
        assert "Ending the process at once: leader election lost: thief holds the lease now" in await first.said()


async def test_stopping_finishes_what_was_begun(kubeconfig: Path, client: Client, namespace: str) -> None:
    """Nothing is left half written, and the process ends in order, which it would not after its deadline."""
    await create(client, "slow", namespace)
    async with operator(kubeconfig, "only", namespace) as only:
        await until(client, "slow", namespace, lambda data: "begin" in data)
        only.process.terminate()
        assert await only.process.wait() == 0
    assert (await client.get(ConfigMap, "slow", namespace)).data == {"begin": "only", "end": "only"}


async def test_what_never_ends_is_ended_at_the_deadline(kubeconfig: Path, client: Client, namespace: str) -> None:
    """A thread cannot be cancelled; the process ends nevertheless, and says that it had to."""
    await create(client, "block", namespace)
    async with operator(kubeconfig, "only", namespace, "--short") as only:
        await until(client, "block", namespace, lambda data: "blocked" in data)
        only.process.terminate()
        began = time.monotonic()
        assert await only.process.wait() == 1
        assert time.monotonic() - began < 30, "the deadline of most, and by far not that of this one"
        assert "the deadline is over" in await only.said()


async def test_a_second_signal_ends_it_at_once(kubeconfig: Path, client: Client, namespace: str) -> None:
    await create(client, "block", namespace)
    async with operator(kubeconfig, "only", namespace) as only:
        await until(client, "block", namespace, lambda data: "blocked" in data)
        only.process.terminate()
        await only.heard("Stopping and waiting")
        only.process.terminate()
        assert await only.process.wait() == 1


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        ("--kubeconfig=/nonexistent", "/nonexistent"),
        (f"--kubeconfig={PROGRAM}", "operator_of_config_maps.py: expected an object"),
        ("--metrics-bind-address=nowhere", "'nowhere' is no address to listen on"),
    ],
    ids=["a kubeconfig that is not there", "a kubeconfig that is none", "an address that is none"],
)
async def test_bad_flags_end_it_with_a_sentence(tmp_path: Path, flag: str, sentence: str) -> None:
    """Before a server is even asked."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(server="https://127.0.0.1:1"))
    async with operator(kubeconfig, "only", "default", flag) as only:
        assert await only.process.wait() == 1
        said = await only.said()
        assert sentence in said and "Traceback" not in said


async def test_a_wrong_token_is_said_without_a_traceback(config: Config, namespace: str, tmp_path: Path) -> None:
    """It goes on trying, as the token may become right; what is wrong stands in the log."""
    kubeconfig = tmp_path / "wrong.conf"
    kubeconfig.write_text(KUBECONFIG.format(server=config.server))
    async with operator(kubeconfig, "only", namespace) as only:
        said = await only.heard("Unauthorized")
        assert "Watching ConfigMap" in said and "Traceback" not in said and "wrong-token" not in said
        only.process.terminate()
        assert await only.process.wait() == 0
