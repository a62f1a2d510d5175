"""`/version`: which Kubernetes the server behaves like. Clients choose what they send by it."""

from __future__ import annotations

import platform
from functools import cache

from kapstan.apiserver.builtin import kubernetes_version
from kapstan.version import __version__

__all__ = ("version_info",)


@cache
def version_info(version: str = "") -> dict[str, str]:
    """What a server says that it is: another version of Kubernetes than the one it behaves like, if asked to.

    `v1.36.3+kapstan`: what follows the plus sign never counts when versions are compared.
    """
    version = version or kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{version}+kapstan",
        "gitCommit": __version__,
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{_machine()}",
    }


def _machine() -> str:
    machine = platform.machine().lower()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
