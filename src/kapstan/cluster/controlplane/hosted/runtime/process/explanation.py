"""Explanation: why a component does not run, in a word and in a sentence, out of what it wrote into its log.

A log says it in its own way, among other things. The causes that people meet are put so that they know what to do;
anything else is the last line that the component wrote.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from kapstan.components.process import ProcessFailed

__all__ = ("Explanation", "explain", "explain_lines")

_LIMIT = 300
# What klog and zap put before a message.
_KLOG = re.compile(r'^[IWEF]\d{4} [\d:.]+ +\d+ \S+\] (?:"(?P<text>[^"]*)" ?(?P<rest>.*)|(?P<plain>.*))$')
_UNKNOWN_FLAG = re.compile(r"(?:unknown flag: (--[\w.-]+)|flag provided but not defined: -([\w.-]+))")
_BIND = re.compile(r"listen tcp (?P<address>\S+?): bind: address already in use")


class Explanation(str):
    """A sentence, with a word for the cause."""

    __slots__ = ("reason",)
    reason: str

    def __new__(cls, text: str, reason: str = "Exited") -> Explanation:
        explanation = super().__new__(cls, text)
        explanation.reason = reason
        return explanation


def explain(error: Exception) -> Explanation:
    """Why something could not be started or kept running."""
    if isinstance(error, ProcessFailed):
        what = str(error).partition(" (log:")[0]
        return explain_lines(what, error.last_lines)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        what = f"{error.filename or 'a file'} cannot be written"
        return Explanation(f"{what}: the disk is full; free some space", "NoSpace")
    return Explanation(str(error), "Failed")


def explain_lines(what: str, lines: Sequence[str]) -> Explanation:
    """`what` happened, and these are the last lines of the log."""
    for line in reversed(lines):
        if "no space left on device" in line:
            return Explanation(f"{what}: the disk is full; free some space", "NoSpace")
        if "database space exceeded" in line:
            return Explanation(f"{what}: etcd has used up its quota; raise --quota-backend-bytes", "NoSpace")
        if bound := _BIND.search(line):
            return Explanation(f"{what}: another program listens on {bound['address']}", "AddressInUse")
        if flag := _UNKNOWN_FLAG.search(line):
            return Explanation(f"{what}: it does not know the flag {flag[1] or '--' + flag[2]}", "UnknownFlag")
    last = next((text for text in (_message(line) for line in reversed(lines)) if text), "")
    return Explanation(f"{what}: {last[:_LIMIT]}" if last else what)


def _message(line: str) -> str:
    """The message of a log line, without time and place: etcd writes JSON, Kubernetes klog."""
    line = line.strip()
    if line.startswith("{"):
        return _json_message(line)
    found = _KLOG.match(line)
    if found is None:
        return line
    return (found["plain"] or f"{found['text']} {found['rest']}").strip()


def _json_message(line: str) -> str:
    try:
        entry = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.MsgspecError:
        return line
    return ": ".join(str(entry[key]) for key in ("msg", "error") if entry.get(key))
