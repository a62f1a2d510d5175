"""Defaults: what Kubernetes fills in where nothing was sent, by Go type.

A default belongs to a type wherever it stands: a container of a pod and one in the template of a CronJob get the same.
`DEFAULTS` maps the name of a type to a function that completes one object of it in place, after those within it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kapstan.apiserver.strategy.defaults import core, groups, pods, workloads
from kapstan.apiserver.strategy.defaults.constants import CONSTANTS, Default, constant

__all__ = ("DEFAULTS", "Default")


def _combined() -> Mapping[str, Default]:
    """The functions of all modules; where a type also has constants, they come first."""
    found = {name: constant(values) for name, values in CONSTANTS.items()}
    for functions in (core.DEFAULTS, pods.DEFAULTS, workloads.DEFAULTS, groups.DEFAULTS):
        for name, function in functions.items():
            found[name] = _both(found[name], function) if name in found else function
    return found


def _both(first: Default, second: Default) -> Default:
    def run(obj: dict[str, object]) -> None:
        first(obj)
        second(obj)

    return run


DEFAULTS = _combined()
