"""Both storages, for tests that must hold on either."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from kapstan.apiserver.storage.interface import Record
from kapstan.apiserver.storage.memory import MemoryStorage
from kapstan.apiserver.storage.record import record_from_object
from kapstan.apiserver.storage.sqlite import Database
from kapstan.machinery.gvk import GroupResource

CONFIG_MAPS = GroupResource("", "configmaps")

Build = Callable[[int], Record]
Builder = Callable[..., Build]


@pytest.fixture(params=["memory", "sqlite"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryStorage]:
    if request.param == "memory":
        yield MemoryStorage()
        return
    database = await Database.open(tmp_path / "kapstan.db", synchronous="NORMAL")
    yield await database.storage("test")
    await database.close()


@pytest.fixture
def build() -> Builder:
    """Makes the function that makes a record: `build("default/a", data="1")`."""

    def make(
        key: str, *, data: str = "", labels: dict[str, str] | None = None, owners: tuple[str, ...] = (), uid: str = ""
    ) -> Build:
        metadata: dict[str, Any] = {"name": key.rpartition("/")[2], "labels": labels or {}, "uid": uid}
        metadata["ownerReferences"] = [{"uid": owner} for owner in owners]
        return lambda revision: record_from_object(CONFIG_MAPS, key, revision, {"metadata": metadata, "data": data})

    return make
