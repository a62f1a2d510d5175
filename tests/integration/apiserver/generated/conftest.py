"""Two servers for as long as the tests run, in an event loop of their own: Hypothesis' tests are no coroutines."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
from collections.abc import Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.integration.apiserver.core.conftest import Both, Server, Step
from tests.unit.apiserver.strategy.asking import bare

from kapstan.testing.environment import opened
from kapstan.testing.servers import EmbeddedAPIServer, RealAPIServer

T = TypeVar("T")
Object = dict[str, Any]


class Lab:
    """Asks both servers, and compares what they answer."""

    def __init__(self, real: RealAPIServer, folder: Path) -> None:
        self._real, self._folder = real, folder
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._numbers = itertools.count()
        self._namespaces = itertools.count()

    def __enter__(self) -> Lab:
        self._thread.start()
        self._stop = asyncio.Event()
        started = threading.Event()
        self._lives = asyncio.run_coroutine_threadsafe(self._live(started), self._loop)
        started.wait(60)
        assert not self._lives.done(), self._lives.exception()
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._lives.result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _live(self, started: threading.Event) -> None:
        from kapstan.apiserver.server import EmbeddedServer

        async with (
            EmbeddedServer() as server,
            opened(EmbeddedAPIServer(server)) as embedded,
            opened(self._real) as real,
        ):
            servers = [Server(env, self._folder) for env in (bare(embedded), real)]
            self._both = Both(*servers)
            started.set()
            await self._stop.wait()
            for one in servers:
                await one.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    @property
    def group(self) -> str:
        return self._both.values["GROUP"]

    def new_name(self) -> str:
        """A name that no example had before."""
        return f"x{next(self._numbers)}"

    def new_namespace(self) -> str:
        name = f"generated-{next(self._namespaces)}"
        for server in (self._both.embedded, self._both.real):
            made = self.run(
                server.run(Step("", "POST", "/api/v1/namespaces", {"metadata": {"name": name}}), self._values)
            )
            assert made["status"] in (201, 409), made
        return name

    def wait_for(self, path: str) -> None:
        for server in (self._both.embedded, self._both.real):
            self.run(server.wait_for(path, self._values))

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[Object, Object]:
        """What both say."""
        step = Step("", method, path, body, headers)
        ours = self.run(self._both.embedded.run(step, self._values))
        theirs = self.run(self._both.real.run(step, self._values))
        return _comparable(ours), _comparable(theirs)

    def agree(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Object:
        """Insist that both say the same."""
        ours, theirs = self.ask(method, path, body, headers)
        assert ours == theirs, f"{method} {path} {body}\n" + "\n".join(differences(ours, theirs))
        return ours

    def all_agree(self, steps: Iterable[tuple[Any, ...]]) -> None:
        for step in steps:
            self.agree(*step)

    @property
    def _values(self) -> dict[str, str]:
        return {**self._both.values, "NS": "no-such-text"}


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """What is not the same, line by line."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            yield from differences(ours.get(name, "nothing"), theirs.get(name, "nothing"), f"{path}.{name}")
    elif ours != theirs:
        yield f"  {path}\n    embedded: {ours}\n    real:     {theirs}"


# A patch that is refused is shown as JSON, whose fields Go orders in its own way.
_SHOWN = re.compile(r'(?<=Invalid value: ")\{.*\}(?=": )')


def _comparable(value: Any) -> Any:
    """With managers in an order that does not depend on the second in which they wrote."""
    if isinstance(value, str):
        return _SHOWN.sub("<patched>", _typed_errors(value))
    if isinstance(value, dict):
        found = {name: _comparable(item) for name, item in value.items()}
        if isinstance(managers := found.get("managedFields"), list):
            found["managedFields"] = sorted(managers, key=_manager)
        if len(causes := (found.get("details") or {}).get("causes") or ()) > 1:  # Go goes through maps as it likes
            found["details"]["causes"], found["message"] = sorted(causes, key=str), "<of several causes>"
        return found
    return [_comparable(item) for item in value] if isinstance(value, list) else value


def _typed_errors(text: str) -> str:
    """Why a configuration has not the type: Go goes through maps as it likes, and stops at what is not declared."""
    head, several, causes = text.partition(": errors:\n")
    if not several:
        return text
    lines = sorted(causes.splitlines())
    undeclared = [line for line in lines if line.endswith(": field not declared in schema")]
    return f"{head}: {undeclared[0].strip()}" if undeclared else head + several + "\n".join(lines)


def _manager(entry: Object) -> tuple[str, ...]:
    return tuple(str(entry.get(name)) for name in ("manager", "operation", "subresource", "apiVersion"))


@pytest.fixture(scope="session")
def lab(real_api_server: RealAPIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(real_api_server, tmp_path_factory.mktemp("lab")) as running:
        yield running
