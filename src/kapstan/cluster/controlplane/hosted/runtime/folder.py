"""Folder: everything that a machine holds of one control plane. Whoever has the folder has the control plane.

    instance.json      whose it is, and where its components listen
    pki/               certificates and keys, under kubeadm's names
    *.conf             kubeconfigs of components
    etcd/              data, where the etcd is its own
    logs/ run/         of the processes

Nobody but the owner can look into it (0700), nor read a file of it (0600).
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from kapstan.cluster.api.controlplane.hosted import DatastoreType
from kapstan.cluster.controlplane.hosted.certificates import FOLDER
from kapstan.cluster.controlplane.hosted.runtime.interface import Instance, Ports
from kapstan.components.files import private_folder, write_private
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import ObjectKey

__all__ = ("Folder", "Record", "read_note", "write_note")

T = TypeVar("T")


class Record(msgspec.Struct, kw_only=True, frozen=True):
    """Whose a control plane is, and where its components listen."""

    owner: str
    datastore: DatastoreType
    bind_address: str
    advertise_address: str
    ports: Ports
    # Whether the port of the API server is known to others, or was asked for.
    fixed: bool

    @property
    def key(self) -> ObjectKey:
        return ObjectKey.parse(self.owner)


class Folder:
    """The folder of one control plane."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pki = path / FOLDER
        self.data = path / "etcd"
        self._record: Record | None = None

    @property
    def exists(self) -> bool:
        return self.path.is_dir()

    @property
    def record(self) -> Record | None:
        """None before it was claimed, or if it was damaged."""
        if self._record is None:
            self._record = read_note(self.path / "instance.json", Record)
        return self._record

    def claim(self, instance: Instance) -> None:
        """Make sure that nobody else's data are here."""
        found = self.record
        if found is not None and found.key != instance.key:
            raise KapstanError(
                f"the data {instance.id!r} on this machine belong to HostedControlPlane {found.key}: "
                "give spec.datastore.prefix another value, or none"
            )

    def save(self, record: Record) -> None:
        self._record = record
        write_note(self.path / "instance.json", record)

    def read_files(self) -> dict[str, bytes]:
        """The certificates, keys and kubeconfigs, by their name below the folder."""
        return {str(path.relative_to(self.path)): path.read_bytes() for path in self._files()}

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """Have these, and none beside. What is the same already is left alone: components watch their files."""
        for folder in (self.path, self.pki):  # from the outside in: what is made on the way is not private
            private_folder(folder)
        for name, content in files.items():
            write_private(self.path / name, content)
        for path in list(self._files()):
            if str(path.relative_to(self.path)) not in files:
                path.unlink()

    def _files(self) -> Iterator[Path]:
        for folder in (self.pki, self.pki / "etcd"):
            yield from (folder / name for name in _names(folder))
        yield from (self.path / name for name in _names(self.path) if name.endswith(".conf"))

    async def remove(self) -> None:
        """Leave nothing. In a thread: data may be large."""
        self._record = None
        await asyncio.to_thread(_remove, self.path)


def _names(folder: Path) -> list[str]:
    """The files in a folder, if it is there."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_file()]
    except FileNotFoundError:
        return []


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return


def read_note(path: Path, kind: type[T]) -> T | None:
    """None if it is not there or damaged: then it is as if nothing had been noted."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None


def write_note(path: Path, value: object) -> None:
    write_private(path, msgspec.json.format(msgspec.json.encode(value), indent=2))
