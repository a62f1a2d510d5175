"""`python -m kapstan.apiserver.envtest [--no-controllers] kube-apiserver|etcd FLAGS`: what the shims run."""

from __future__ import annotations

import sys

from kapstan.version import __version__

_HELP = frozenset({"--help", "-h"})


def main(arguments: list[str]) -> int:
    """Run the program that is named; the exit code."""
    controllers = arguments[:1] != ["--no-controllers"]
    program, *flags = arguments if controllers else arguments[1:]
    if program == "etcd":
        return _etcd(flags)
    return _kube_apiserver(flags, controllers)


def _etcd(flags: list[str]) -> int:
    from kapstan.apiserver.envtest import etcd

    if "--version" in flags:
        return _print(f"etcd Version: none, kapstan {__version__} needs no etcd")
    return _print(etcd.usage()) if _HELP & set(flags) else etcd.main(flags)


def _kube_apiserver(flags: list[str], controllers: bool) -> int:
    if "--version" in flags:
        from kapstan.apiserver.builtin import kubernetes_version

        return _print(f"Kubernetes {kubernetes_version()}+kapstan")
    if _HELP & set(flags):
        from kapstan.apiserver.envtest.flags import usage

        return _print(usage())
    from kapstan.apiserver.envtest import kubeapiserver

    return kubeapiserver.main(flags, controllers=controllers)


def _print(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
