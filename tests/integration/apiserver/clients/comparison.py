"""The same command on two servers: what kubectl says of either must be the same, but for what no two servers share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tests.integration.apiserver.clients.programs import Program, Said

__all__ = ("Both",)

_NORMAL = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "TIME"),
    (re.compile(r'(resourceVersion\\?"?: ?\\?"?|Resource Version: +)\d+'), r"\1N"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "URL"),
    (re.compile(r"(?<![\w.-])(\d+[hms]){1,2}(?![\w.-])"), "AGE"),
    (re.compile(r"(LIVE|MERGED)-\d+"), r"\1"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}"), "TIME"),
    (re.compile(r"(eyJ[\w-]+)\.[\w-]+\.[\w-]+"), "TOKEN"),
    (re.compile(r"X509SHA256=[0-9a-f]{64}"), "X509SHA256"),
    (re.compile(r"\b10\.(9[6-9]|10\d|11[01])\.\d+\.\d+\b"), "SERVICE-IP"),
    (re.compile(r"[ \t]+"), " "),
)


class Both:
    """kubectl on the embedded and on the real server, in a namespace of the same name."""

    def __init__(self, embedded: Program, real: Program, namespace: str) -> None:
        self.embedded, self.real = embedded, real
        self.namespace = namespace
        self.differences: list[str] = []

    @contextmanager
    def namespaced(self) -> Iterator[None]:
        """Have the namespace inside the block, at whose end both must have said the same all the time."""
        for kubectl in (self.embedded, self.real):
            kubectl.ok("create", "namespace", self.namespace)
        yield
        assert not self.differences, "\n\n".join(self.differences)

    def __call__(self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Said:
        """Run a command on both, and note if they differ. What it said of the embedded one."""
        line = ("-n", self.namespace, *arguments)
        with ThreadPoolExecutor(2) as threads:
            running = [threads.submit(each, *line, stdin=stdin, env=env) for each in (self.embedded, self.real)]
        ours, theirs = (each.result() for each in running)
        if _normal(ours) != _normal(theirs):
            self.differences.append(f"kubectl {' '.join(arguments)}\n embedded: {_told(ours)}\n real: {_told(theirs)}")
        return ours

    def until(self, *arguments: str) -> None:
        """Wait until a command succeeds on both."""
        for kubectl in (self.embedded, self.real):
            kubectl.until(*arguments)


def _normal(said: Said) -> Said:
    return Said(said.code, _without_what_differs(said.out), _without_what_differs(said.err))


def _without_what_differs(text: str) -> str:
    for pattern, replacement in _NORMAL:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _told(said: Said) -> str:
    return f"exit code {said.code}\n{said.out}{said.err}"
