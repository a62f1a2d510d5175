"""Health: `/healthz`, `/livez` and `/readyz`, with their checks one by one where asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kapstan.apiserver.http.message import HTTPRequest, Response, text_response

__all__ = ("HEALTH_PATHS", "Check", "serve_health")

# Returns what is wrong, or "".
Check = Callable[[], str]

HEALTH_PATHS = ("healthz", "livez", "readyz")


def serve_health(request: HTTPRequest, checks: Mapping[str, Check]) -> Response:
    """Answer `/<name>` or `/<name>/<check>`."""
    name, _, only = request.path.strip("/").partition("/")
    if only:
        if only not in checks:
            return text_response(404, "404 page not found\n")
        checks = {only: checks[only]}
    excluded = request.query.get("exclude", [])
    found = {check: "" if check in excluded else run() for check, run in checks.items()}
    failed = [check for check, why in found.items() if why]
    if not failed and (only or "verbose" not in request.query):
        return text_response(200, "ok", _HEADERS)
    lines = [_line(check, why, check in excluded) for check, why in found.items()]
    lines.append(f"{name} check failed" if failed else f"{name} check passed")
    return text_response(500 if failed else 200, "\n".join(lines) + "\n", _HEADERS)


_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache, private"}


def _line(check: str, why: str, excluded: bool) -> str:
    if excluded:
        return f"[+]{check} excluded: ok"
    return f"[-]{check} failed: reason withheld" if why else f"[+]{check} ok"
