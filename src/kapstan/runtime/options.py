"""Options of a manager, and the flags and variables that set them: those of kubebuilder's main."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from kapstan.client.interface import Kind
from kapstan.machinery.errors import ConfigError
from kapstan.runtime.election import ElectionTimes
from kapstan.runtime.log import Encoder, TimeEncoding
from kapstan.runtime.scope import Scope

__all__ = ("Certificate", "LogOptions", "ManagerOptions", "add_flags", "options_of")


class Certificate(Struct, frozen=True):
    """Where a serving certificate is. Without a folder there is none."""

    folder: str = ""
    name: str = "tls.crt"
    key: str = "tls.key"

    @property
    def files(self) -> tuple[Path, Path]:
        return Path(self.folder, self.name), Path(self.folder, self.key)


class LogOptions(Struct, frozen=True, kw_only=True):
    """How to log."""

    encoder: Encoder = "json"
    level: int = logging.INFO
    stacktrace_level: int = logging.ERROR
    time_encoding: TimeEncoding = "rfc3339"


class ManagerOptions(Struct, frozen=True, kw_only=True):
    """What a manager serves and how it takes part in elections. Addresses are `host:port`; `0` serves nothing."""

    kubeconfig: str = ""
    namespaces: tuple[str, ...] = ()  # none: all
    scopes: Mapping[Kind[Any], Scope] = {}  # what is cached of single kinds, in `namespaces` unless they name others
    uncached: tuple[Kind[Any], ...] = ()  # kinds that are read live
    leader_election: bool = False
    leader_election_id: str | tuple[str, ...] = ""  # of several leases all are needed, and taken in this order
    leader_election_namespace: str = ""  # none: the one that this process runs in
    leader_election_times: ElectionTimes = ElectionTimes()
    leader_election_release: bool = True
    metrics_bind_address: str = "0"
    metrics_secure: bool = True
    metrics_certificate: Certificate = Certificate()
    health_probe_bind_address: str = "0"
    webhooks: bool = True
    webhook_host: str = ""
    webhook_port: int = 9443
    webhook_certificate: Certificate = Certificate()
    graceful_shutdown_timeout: float = 30  # seconds; 0: do not wait, negative: for ever
    log: LogOptions | None = None  # None: leave logging as it is

    def __post_init__(self) -> None:
        if not 0 <= self.webhook_port <= 65535:
            raise ConfigError(f"the webhook port is between 0 and 65535, got {self.webhook_port}")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Have a parser know the flags of a manager."""
    flag = parser.add_argument
    flag("--kubeconfig", default="", help="Path to a kubeconfig. Only needed out of cluster.")
    _switch(parser, "--leader-elect", False, "Enable leader election: only one of several managers is active.")
    flag("--metrics-bind-address", default="0", help="Where metrics are served: :8443 or :8080; 0 for nowhere.")
    _switch(parser, "--metrics-secure", True, "Serve metrics over HTTPS, to those who may read them.")
    flag("--metrics-cert-path", default="", help="The folder of the metrics certificate.")
    flag("--metrics-cert-name", default="tls.crt", help="The file name of the metrics certificate.")
    flag("--metrics-cert-key", default="tls.key", help="The file name of the metrics key.")
    flag("--health-probe-bind-address", default=":8081", help="Where probes are answered; 0 for nowhere.")
    flag("--webhook-port", type=int, default=9443, help="The port of the webhook server.")
    flag("--webhook-cert-path", default="", help="The folder of the webhook certificate.")
    flag("--webhook-cert-name", default="tls.crt", help="The file name of the webhook certificate.")
    flag("--webhook-cert-key", default="tls.key", help="The file name of the webhook key.")
    _switch(parser, "--enable-http2", False, "Accepted for compatibility; servers speak HTTP/1.1.")
    _switch(parser, "--zap-devel", False, "Log for people and in detail (console encoder, debug level).")
    flag("--zap-encoder", choices=("json", "console"), help="How log lines are written.")
    flag("--zap-log-level", help="debug, info, error, or a number: the higher, the more is logged.")
    flag("--zap-stacktrace-level", choices=("info", "error", "panic"), help="From which level on traces are logged.")
    flag(
        "--zap-time-encoding",
        choices=("epoch", "millis", "nano", "iso8601", "rfc3339", "rfc3339nano"),
        default="rfc3339",
        help="How times are written.",
    )


def options_of(flags: argparse.Namespace, environment: Mapping[str, str] = os.environ, **fixed: Any) -> ManagerOptions:
    """The options that flags and variables ask for; `fixed` are those that the program decides itself."""
    options: dict[str, Any] = {
        "kubeconfig": flags.kubeconfig,
        "namespaces": tuple(filter(None, map(str.strip, environment.get("WATCH_NAMESPACE", "").split(",")))),
        "leader_election": flags.leader_elect,
        "metrics_bind_address": flags.metrics_bind_address,
        "metrics_secure": flags.metrics_secure,
        "metrics_certificate": Certificate(flags.metrics_cert_path, flags.metrics_cert_name, flags.metrics_cert_key),
        "health_probe_bind_address": flags.health_probe_bind_address,
        "webhooks": environment.get("ENABLE_WEBHOOKS", "true").lower() != "false",
        "webhook_port": flags.webhook_port,
        "webhook_certificate": Certificate(flags.webhook_cert_path, flags.webhook_cert_name, flags.webhook_cert_key),
        "log": _log_options(flags),
    }
    return ManagerOptions(**{**options, **fixed})


def _log_options(flags: argparse.Namespace) -> LogOptions:
    devel = flags.zap_devel
    encoder: Encoder = flags.zap_encoder or ("console" if devel or sys.stderr.isatty() else "json")
    level = _level(flags.zap_log_level) if flags.zap_log_level else logging.DEBUG if devel else logging.INFO
    traces = {"info": logging.INFO, "error": logging.ERROR, "panic": logging.CRITICAL}
    default = logging.WARNING if devel else logging.ERROR
    return LogOptions(
        encoder=encoder,
        level=level,
        stacktrace_level=traces.get(flags.zap_stacktrace_level, default),
        time_encoding=flags.zap_time_encoding,
    )


def _level(text: str) -> int:
    """zap counts details: 1 is debug and more is more; names are those of Python and zap alike."""
    if text.isdigit():
        return logging.DEBUG if int(text) > 0 else logging.INFO
    known = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
    level = known.get(text.lower(), logging.CRITICAL if text.lower() == "panic" else None)
    if level is None:
        raise ConfigError(f"--zap-log-level {text!r} is none of debug, info, warn, error, panic or a number")
    return level


def _switch(parser: argparse.ArgumentParser, name: str, default: bool, help: str) -> None:
    """A flag as Go writes it: `--leader-elect` and `--leader-elect=false`."""
    parser.add_argument(name, type=_truth, nargs="?", const=True, default=default, metavar="true|false", help=help)


def _truth(text: str) -> bool:
    if text.lower() in ("true", "t", "1"):
        return True
    if text.lower() in ("false", "f", "0"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def parse(
    arguments: Sequence[str] | None, parser: argparse.ArgumentParser | None = None, **fixed: Any
) -> ManagerOptions:
    """The options that a command line asks for."""
    parser = parser or argparse.ArgumentParser(allow_abbrev=False)
    add_flags(parser)
    return options_of(parser.parse_args(arguments), **fixed)
