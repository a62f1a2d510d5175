"""`etcd`, as envtest starts it: it answers `/health` and stores nothing, since the embedded server keeps its own data.

Only the standard library: envtest starts it twice for every suite, and waits.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

__all__ = ("main",)

_FLAG = "--listen-client-urls"
_DEFAULT = "http://127.0.0.1:2379"

_HELP = """Stands for etcd where the API server of kapstan needs none. It answers /health and stores nothing.

Flags:
  --listen-client-urls 'http://127.0.0.1:2379'   where to answer
  --data-dir, --listen-peer-urls, --advertise-client-urls, --unsafe-no-fsync   no effect
"""


class _Health(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = urlsplit(self.path).path == "/health"
        body = b'{"health":"true","reason":""}' if found else b"404 page not found\n"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json" if found else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


def main(arguments: Sequence[str]) -> int:
    """Answer until a signal comes; the exit code."""
    where = urlsplit(_listen(arguments).split(",")[0])
    try:
        server = ThreadingHTTPServer((where.hostname or "127.0.0.1", where.port or 2379), _Health)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"etcd (kapstan): cannot listen on {where.geturl()}: {error}\n")
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0


def usage() -> str:
    return _HELP


def _listen(arguments: Sequence[str]) -> str:
    """The last value of the flag, given as `--flag=value` or `--flag value`."""
    found = _DEFAULT
    for position, argument in enumerate(arguments):
        name, has_value, value = argument.partition("=")
        if name == _FLAG:
            found = value if has_value else next(iter(arguments[position + 1 :]), _DEFAULT)
    return found
