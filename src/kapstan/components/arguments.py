"""Arguments: the flags of a component, defaults first, then what a user adds.

kubeadm's rule holds: a name that the user gives replaces our value for it, and may be given more than once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ("ExtraArguments", "arguments")

ExtraArguments = Iterable[tuple[str, str]]


def arguments(defaults: Mapping[str, str | None], extra: ExtraArguments = ()) -> tuple[str, ...]:
    """`--name=value` for each; a default of None is not given."""
    added = [(name.removeprefix("--"), value) for name, value in extra]
    replaced = {name for name, _ in added}
    kept = [(name, value) for name, value in defaults.items() if value is not None and name not in replaced]
    return tuple(f"--{name}={value}" for name, value in [*kept, *added])
