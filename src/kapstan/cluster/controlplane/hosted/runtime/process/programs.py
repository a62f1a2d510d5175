"""Programs: where the executables of a version are. Asked once for each version: to ask one takes it a moment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName
from kapstan.components import assets

__all__ = ("Programs",)


class Programs:
    """The executables on this machine."""

    def __init__(self) -> None:
        self._found: dict[str, Mapping[ComponentName, Path]] = {}

    async def find(self, version: str) -> Mapping[ComponentName, Path]:
        """Those of a version of Kubernetes; `MissingAsset` says how to get them.

        There is one etcd for every version, so that an upgrade of a control plane leaves its data alone.
        """
        if version not in self._found:
            kubernetes = [name for name in ComponentName if name is not ComponentName.ETCD]
            found = {**await assets.find_all([ComponentName.ETCD]), **await assets.find_all(kubernetes, version)}
            self._found[version] = {name: found[name] for name in ComponentName}
        return self._found[version]

    async def etcd(self) -> Path:
        return (await assets.find_all([ComponentName.ETCD]))[ComponentName.ETCD]
