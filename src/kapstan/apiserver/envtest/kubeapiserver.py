"""`kube-apiserver`, as envtest starts it: the embedded server in memory, with kube-apiserver's flags and certificates.

envtest's suites know a server without controllers. What makes objects go away as in a cluster runs here all the same:
the garbage collector and the namespace controller, and no others, unless `--no-controllers` comes first. Service
accounts and root certificates are made where the admission plugin ServiceAccount is on, which envtest switches off.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Collection, Sequence

from kapstan.apiserver.controllers.manager import KUBE_CONTROLLER_MANAGER
from kapstan.apiserver.envtest.credentials import FileCredentials, static_tokens
from kapstan.apiserver.envtest.flags import Flags, parse
from kapstan.apiserver.server import Server
from kapstan.apiserver.strategy.services.allocation import allocations
from kapstan.machinery.errors import KapstanError

__all__ = ("controllers_left_out", "main")

_SERVICE_ACCOUNT = "ServiceAccount"
_ENDING = ("garbage-collector-controller", "namespace-controller")
_FOR_SERVICE_ACCOUNTS = ("serviceaccount-controller", "root-ca-certificate-publisher-controller")


def main(arguments: Sequence[str], *, controllers: bool = True) -> int:
    """Serve until a signal comes; the exit code."""
    try:
        flags = parse(arguments)
        if flags.ignored:
            names = ", ".join(f"--{name}" for name in flags.ignored)
            sys.stderr.write(f"kube-apiserver (kapstan): no effect here: {names}\n")
        with asyncio.Runner(loop_factory=_loop_factory) as runner:
            runner.run(_serve(flags, controllers_left_out(flags, controllers)))
    except KapstanError as error:
        sys.stderr.write(f"kube-apiserver (kapstan): {error}\n")
        return 1
    return 0


def _loop_factory() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def controllers_left_out(flags: Flags, controllers: bool) -> Collection[str]:
    """All that kube-controller-manager would bring, but for those that a suite can want."""
    wanted = set(_ENDING) if controllers else set()
    if controllers and _SERVICE_ACCOUNT not in flags.disabled_plugins:
        wanted |= set(_FOR_SERVICE_ACCOUNTS)
    return [name for name in KUBE_CONTROLLER_MANAGER if name not in wanted]


async def _serve(flags: Flags, without: Collection[str]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Server() as server:
        cluster = await server.new_cluster(
            "envtest", credentials=FileCredentials(flags), static_tokens=static_tokens(flags)
        )
        if unknown := cluster.admission.disable(flags.disabled_plugins):
            sys.stderr.write(f"kube-apiserver (kapstan): there is no such plugin to disable: {', '.join(unknown)}\n")
        if flags.network is not None:
            allocations(cluster.storage).network = flags.network
        await server.add(cluster, flags.host, flags.port, without_controllers=without)
        gc.freeze()
        await stop.wait()
