"""Programs are found in the order that the documentation promises, and only in the right version."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kapstan.components import assets, cache
from kapstan.components.assets import MissingAsset, Source
from kapstan.components.releases import DEFAULT_VERSION, ETCD
from kapstan.machinery.errors import ConfigError

from .conftest import Machine, Recorder

DEFAULT = f"Kubernetes {DEFAULT_VERSION}"


async def test_nothing_is_found_on_an_empty_machine(machine: Machine) -> None:
    assert await assets.find("kube-apiserver") is None


async def test_each_place_wins_over_the_next(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """From last to first: whatever is added later in this test takes precedence."""
    cached = machine.program(machine.cached(DEFAULT_VERSION), "kube-apiserver", DEFAULT)
    assert await assets.find("kube-apiserver") == assets.Asset("kube-apiserver", cached, Source.CACHE)

    on_path = machine.program(machine.path, "kube-apiserver", DEFAULT)
    assert await assets.find("kube-apiserver") == assets.Asset("kube-apiserver", on_path, Source.PATH)

    kubebuilder = machine.program(machine.assets / "kubebuilder", "kube-apiserver", DEFAULT)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(kubebuilder.parent))
    assert await assets.find("kube-apiserver") == assets.Asset("kube-apiserver", kubebuilder, Source.KUBEBUILDER_ASSETS)

    ours = machine.program(machine.assets / "ours", "kube-apiserver", DEFAULT)
    monkeypatch.setenv("KAPSTAN_ASSETS", str(ours.parent))
    assert await assets.find("kube-apiserver") == assets.Asset("kube-apiserver", ours, Source.KAPSTAN_ASSETS)


@pytest.mark.parametrize(
    ("program", "says", "accepted"),
    [
        pytest.param("kubectl", f"Client Version: {DEFAULT_VERSION}\nKustomize Version: v5.8.1", True, id="the same"),
        pytest.param("kubectl", "Client Version: v1.32.4-dispatcher", False, id="an older one"),
        pytest.param("kube-apiserver", "Kubernetes v1.36.99", False, id="another patch"),
        pytest.param("etcd", f"etcd Version: {ETCD.pinned}".replace("v3", "3"), True, id="etcd, the same"),
        pytest.param("etcd", "etcd Version: 3.6.1", True, id="etcd, the same minor"),
        pytest.param("etcd", "etcd Version: 3.5.21", False, id="etcd, another minor"),
        pytest.param("kubectl", "who knows", False, id="no version at all"),
    ],
)
async def test_a_program_on_path_has_to_be_of_the_version(
    machine: Machine, program: str, says: str, accepted: bool
) -> None:
    machine.program(machine.path, program, says)

    assert (await assets.find(program) is not None) is accepted


async def test_a_named_folder_is_taken_at_its_word(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAPSTAN_ASSETS", str(machine.assets))
    machine.program(machine.assets, "kubectl", "Client Version: v1.30.0")

    assert await assets.find("kubectl") is not None


async def test_a_named_folder_does_not_answer_for_another_version(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upgrade tests ask for the old version explicitly while the new one is in the named folder."""
    monkeypatch.setenv("KAPSTAN_ASSETS", str(machine.assets))
    machine.program(machine.assets, "kubectl", "Client Version: v1.36.3")
    old = machine.program(machine.cached("v1.35.4"), "kubectl", "Client Version: v1.35.4")

    found = await assets.find("kubectl", "v1.35.4")

    assert found is not None
    assert found.path == old


async def test_a_named_folder_need_not_have_everything(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """KUBEBUILDER_ASSETS never holds a kube-controller-manager; that one comes from the next place."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(machine.assets))
    machine.program(machine.assets, "etcd", "etcd Version: 3.6.16")
    machine.program(machine.cached(DEFAULT_VERSION), "kube-controller-manager", DEFAULT)

    found = await assets.find_all(["etcd", "kube-controller-manager"])

    assert found["etcd"].parent == machine.assets
    assert found["kube-controller-manager"].parent == machine.cached(DEFAULT_VERSION)


async def test_a_named_folder_that_is_none_is_an_error(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAPSTAN_ASSETS", str(machine.assets / "nowhere"))

    with pytest.raises(ConfigError, match=r"KAPSTAN_ASSETS is .* which is not a folder"):
        await assets.find("etcd")


async def test_a_file_that_cannot_be_run_is_not_a_program(machine: Machine) -> None:
    machine.program(machine.cached(DEFAULT_VERSION), "etcd", "").chmod(0o644)

    assert await assets.find("etcd") is None


@pytest.mark.parametrize(
    ("programs", "version", "command"),
    [
        (["etcd", "kubectl"], None, "`kapstan kube fetch`"),
        (["kubectl"], "v1.35.4", "`kapstan kube fetch --version v1.35.4`"),
        (["kubelet"], None, "`kapstan kube fetch --component kubelet`"),
    ],
)
async def test_what_is_missing_is_named_with_the_command_that_brings_it(
    machine: Machine, programs: list[str], version: str | None, command: str
) -> None:
    with pytest.raises(MissingAsset, match=command):
        await assets.find_all(programs, version)


async def test_a_program_nobody_knows_is_an_error(machine: Machine) -> None:
    with pytest.raises(ConfigError, match="there is no program 'kube-api'; known are kube-apiserver"):
        await assets.find("kube-api")


async def test_without_download_and_without_go_one_sentence_says_what_to_do(
    machine: Machine, recorder: Recorder
) -> None:
    with pytest.raises(MissingAsset) as caught:
        await assets.fetch(["etcd"], reporter=recorder)

    assert str(caught.value) == (
        "etcd v3.6.16 cannot be downloaded (downloads of etcd are switched off (KAPSTAN_ETCD_MIRROR=off)), and Go is "
        "not installed, so etcd v3.6.16 cannot be built here: install Go from https://go.dev/dl, or set "
        "KAPSTAN_ASSETS to a folder that has the programs"
    )


async def test_fetching_what_is_there_says_nothing(machine: Machine, recorder: Recorder) -> None:
    machine.program(machine.cached(DEFAULT_VERSION), "etcd", "")

    found = await assets.fetch(["etcd"], reporter=recorder)

    assert found["etcd"].path == machine.cached(DEFAULT_VERSION) / "etcd"
    assert (recorder.lines, recorder.steps) == ([], [])


async def test_two_that_fetch_at_once_build_once(machine: Machine, recorder: Recorder) -> None:
    """The second waits for the lock and then finds what the first has made."""
    folder = machine.cached(DEFAULT_VERSION)
    waiting = asyncio.Event()

    async def second() -> dict[str, assets.Asset]:
        class Waiting(Recorder):
            def line(self, text: str) -> None:
                super().line(text)
                waiting.set()

        return await assets.fetch(["etcd"], reporter=Waiting())

    async with asyncio.TaskGroup() as group:
        async with cache.locked(folder, lambda: None):
            task = group.create_task(second())
            await waiting.wait()
            machine.program(folder, "etcd", "")

    assert task.result()["etcd"].path == folder / "etcd"


async def test_the_lock_ends_with_its_holder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="crash"):
        async with cache.locked(tmp_path, lambda: None):
            raise RuntimeError("crash")

    async with cache.locked(tmp_path, lambda: pytest.fail("nobody holds it")):
        pass


def test_the_cache_folder_follows_the_usual_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KAPSTAN_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.version_folder("v1.36.3") == tmp_path / ".cache/kapstan/kube/v1.36.3"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.version_folder("v1.36.3") == tmp_path / "xdg/kapstan/kube/v1.36.3"

    monkeypatch.setenv("KAPSTAN_CACHE", str(tmp_path / "mine"))
    assert cache.version_folder("v1.36.3") == tmp_path / "mine/kube/v1.36.3"


def test_cached_versions_are_sorted_as_versions(machine: Machine) -> None:
    for version in ("v1.36.0", "v1.9.1", "v1.36.0-rc.1", "v1.10.0"):
        machine.cached(version).mkdir(parents=True)

    assert cache.versions() == ["v1.9.1", "v1.10.0", "v1.36.0-rc.1", "v1.36.0"]


def test_a_half_made_program_never_appears(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), cache.scratch(tmp_path) as work:
        (work / "etcd").write_text("half")
        raise RuntimeError

    assert list(tmp_path.iterdir()) == []
