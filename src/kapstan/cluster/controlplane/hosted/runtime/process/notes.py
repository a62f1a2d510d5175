"""Notes: what was seen of commands, for whoever manages the control plane next.

verified.json      the commands that were last seen to work: where a change that fails goes back to
refused.json       changes that failed, so that they are not tried for ever
"""

from __future__ import annotations

import msgspec

from kapstan.cluster.controlplane.hosted.runtime.folder import Folder, read_note, write_note
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName
from kapstan.components.process import Command

__all__ = ("Notes", "Refused", "Verified")


class Verified(msgspec.Struct, kw_only=True, frozen=True):
    """A command that was seen to work."""

    version: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    # Of the two places that an API server can have.
    slot: int = 0

    @classmethod
    def of(cls, command: Command, version: str, slot: int = 0) -> Verified:
        return cls(version=version, argv=command.argv, environment=dict(command.env), slot=slot)

    @property
    def command(self) -> Command:
        return Command(self.argv, self.environment)


class Refused(msgspec.Struct, kw_only=True, frozen=True):
    """A command that did not work and was taken back."""

    digest: str
    version: str
    message: str


class Notes:
    """The notes in the folder of one control plane."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    @property
    def verified(self) -> dict[str, Verified]:
        """By the name of the component."""
        return read_note(self._folder.path / "verified.json", dict[str, Verified]) or {}

    def verify(self, name: ComponentName, verified: Verified) -> None:
        known = self.verified
        if known.get(name) != verified:
            write_note(self._folder.path / "verified.json", {**known, str(name): verified})

    @property
    def refused(self) -> dict[str, Refused]:
        """By the name of the component."""
        return read_note(self._folder.path / "refused.json", dict[str, Refused]) or {}

    def refuse(self, name: ComponentName, refused: Refused | None) -> None:
        known = self.refused
        changed = {key: value for key, value in known.items() if key != name}
        if refused is not None:
            changed[str(name)] = refused
        if changed != known:
            write_note(self._folder.path / "refused.json", changed)
