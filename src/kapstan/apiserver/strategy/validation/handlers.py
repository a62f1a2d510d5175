"""Probes and hooks: what a container is asked while it runs."""

from __future__ import annotations

from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    complaints,
    header_name_errors,
    nonnegative,
    port,
)
from kapstan.machinery.validation import FieldError, Path

__all__ = ("lifecycle", "probe")

_MORE = "may not specify more than 1 handler type"
_SIGNALS = (
    *("SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO"),
    *("SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX"),
    *sorted(f"SIGRTMAX-{number}" for number in range(1, 15)),
    "SIGRTMIN",
    *sorted(f"SIGRTMIN+{number}" for number in range(1, 16)),
    *("SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG"),
    *("SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"),
)


def probe(found: Object, grace_period: int, path: Path, kind: str) -> Rules:
    yield from _handler(found, ("exec", "httpGet", "tcpSocket", "grpc"), grace_period, path)
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        yield from nonnegative(found.get(field, 0), path.child(field))
    seconds = found.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        yield FieldError.invalid(path.child("terminationGracePeriodSeconds"), seconds, "must be greater than 0")
    if kind == "readinessProbe":
        if seconds is not None:
            detail = "must not be set for readinessProbes"
            yield FieldError.invalid(path.child("terminationGracePeriodSeconds"), seconds, detail)
    elif found.get("successThreshold", 0) != 1:
        yield FieldError.invalid(path.child("successThreshold"), found.get("successThreshold", 0), "must be 1")


def lifecycle(found: Object, grace_period: int, path: Path, os: str | None) -> Rules:
    for hook in ("postStart", "preStop"):
        if found.get(hook) is not None:
            yield from _handler(found[hook], ("exec", "httpGet", "tcpSocket", "sleep"), grace_period, path.child(hook))
    signal = found.get("stopSignal")
    if signal is not None:
        yield from _stop_signal(signal, path.child("stopSignal"), os)


def _stop_signal(signal: str, path: Path, os: str | None) -> Rules:
    if os is None:
        yield FieldError.forbidden(path, "may not be set for containers with empty `spec.os.name`")
    elif os == "windows" and signal not in ("SIGKILL", "SIGTERM"):
        yield FieldError.not_supported(path, signal, ("SIGKILL", "SIGTERM"))
    elif os == "linux" and signal not in _SIGNALS:
        yield FieldError.not_supported(path, signal, _SIGNALS)


def _handler(handler: Object, kinds: tuple[str, ...], grace_period: int, path: Path) -> Rules:
    there = [kind for kind in kinds if handler.get(kind) is not None]
    if not there:
        yield FieldError.required(path, "must specify a handler type")
        return
    yield from _action(there[0], handler[there[0]], grace_period, path.child(there[0]))
    for kind in there[1:]:
        yield FieldError.forbidden(path.child(kind), _MORE)


def _action(kind: str, action: Object, grace_period: int, path: Path) -> Rules:
    if kind == "exec":
        if not action.get("command"):
            yield FieldError.required(path.child("command"))
    elif kind == "httpGet":
        yield from _http_get(action, path)
    elif kind == "sleep":
        seconds = action.get("seconds", 0)
        if not 0 <= seconds <= grace_period:
            detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
            yield FieldError.invalid(path, seconds, detail)
    else:
        yield from port(action.get("port", 0), path.child("port"))


def _http_get(action: Object, path: Path) -> Rules:
    if not action.get("path"):
        yield FieldError.required(path.child("path"))
    yield from port(action.get("port", 0), path.child("port"))
    scheme = action.get("scheme", "")
    if scheme not in ("HTTP", "HTTPS"):
        yield FieldError.not_supported(path.child("scheme"), scheme, ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        yield from complaints(header.get("name", ""), path.child("httpHeaders"), header_name_errors)
