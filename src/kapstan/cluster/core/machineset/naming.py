"""Names of new machines: they look random, but who tries again to make a machine tries the same name.

A request to make a machine may be carried out although nobody heard the answer: it timed out, or whoever asked has
died. So the names of a set's machines are a row that follows from the uid of the set: the next machine is the first of
the row that is not there, and if it is there after all the API server says so. A name is not used twice: before a
machine goes, the set notes where the row goes on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from itertools import count

from kapstan.cluster.api.core import MachineSet
from kapstan.machinery.errors import KapstanError

__all__ = ("DEFAULT", "NEXT", "BadNaming", "Names", "rendered", "suffix")

# On a MachineSet: the first name of the row that may not have been in use.
NEXT = "machineset.kapstan.dev/next-name"
DEFAULT = "{{ .machineSet.name }}-{{ .random }}"
_RANDOM = "{{ .random }}"
_FIELD = re.compile(r"\{\{-?\s*\.([A-Za-z.]+)\s*-?\}\}")
# Kubernetes leaves out vowels, and digits that look like them, so that no words come out.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH, _LONGEST = 5, 63
# How far beyond the machines that are there the row is searched for those that are.
_SLACK = 100


class BadNaming(KapstanError):
    """A template for names that cannot be used; the text says why."""


class Names:
    """The row of names of a set's machines."""

    def __init__(self, machine_set: MachineSet) -> None:
        naming = machine_set.spec.machine_naming
        self._template = (naming.template if naming is not None else None) or DEFAULT
        self._uid, self._set, self._cluster = machine_set.uid, machine_set.name, machine_set.spec.cluster_name
        noted = machine_set.metadata.annotations.get(NEXT, "")
        self.next = int(noted) if noted.isdecimal() else 0

    def __getitem__(self, place: int) -> str:
        return rendered(self._template, self._cluster, self._set, suffix(f"{self._uid}/{place}"))

    def free(self, taken: Collection[str]) -> Iterator[str]:
        """Names for new machines, the first that may have been tried first."""
        return (name for name in (self[place] for place in count(self.next)) if name not in taken)

    def after(self, taken: Collection[str]) -> int:
        """Where the row goes on, so that no name that is taken is used again."""
        left = set(taken)
        following = self.next
        for place in range(self.next, self.next + len(left) + _SLACK):
            if not left:
                break
            name = self[place]
            if name in left:
                left.discard(name)
                following = place + 1
        return following


def suffix(seed: str) -> str:
    """Five characters that look random, but follow from the seed."""
    number = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=8).digest())
    characters = []
    for _ in range(_LENGTH):
        number, place = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[place])
    return "".join(characters)


def rendered(template: str, cluster: str, machine_set: str, random: str) -> str:
    """The name that a template gives. Of Go's templates, what it names can be used, and nothing else."""
    if _RANDOM not in template:
        raise BadNaming(f"{template!r} has no {_RANDOM}: the names of machines would not differ")
    values = {"cluster.name": cluster, "machineSet.name": machine_set, "random": random}

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise BadNaming(f"{template!r} names .{match[1]}; there is only {', '.join(f'.{name}' for name in values)}")
        return values[match[1]]

    name = _FIELD.sub(value, template)
    if "{{" in name or "}}" in name:
        raise BadNaming(f"{template!r} is more than names in braces: only {', '.join(f'.{name}' for name in values)}")
    return name if len(name) <= _LONGEST else name[: _LONGEST - _LENGTH] + random
