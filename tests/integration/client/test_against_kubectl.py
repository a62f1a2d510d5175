"""Kubeconfigs: what we make of several files is what kubectl makes of them."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kapstan.client import Client, Config, Kubeconfig
from kapstan.client.kubeconfig import EntryKind
from kapstan.components import assets
from kapstan.machinery.codec import to_builtins
from kapstan.testing.environment import Environment

pytestmark = pytest.mark.real


async def kubectl(*arguments: str, kubeconfig: str) -> tuple[int, str]:
    program = (await assets.find_all(["kubectl"]))["kubectl"]
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        env={**os.environ, "KUBECONFIG": kubeconfig},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


def write(path: Path, document: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **document}))
    return path


def cluster(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "cluster": {"server": f"https://{name}:6443", **fields}}


FILES: list[list[dict[str, Any]]] = [
    [{"clusters": [cluster("a")], "current-context": "x"}, {"clusters": [cluster("a", **{"tls-server-name": "z"})]}],
    [
        {"users": [{"name": "u", "user": {"username": "one"}}]},
        {"users": [{"name": "u", "user": {"password": "two"}}, {"name": "v", "user": {"token": "t"}}]},
    ],
    [
        {"clusters": [cluster("a", **{"certificate-authority": "pki/ca.crt"})]},
        {
            "contexts": [{"name": "x", "context": {"cluster": "a", "user": "u", "namespace": "there"}}],
            "current-context": "x",
        },
        {
            "users": [
                {
                    "name": "u",
                    "user": {
                        "client-certificate": "../c.pem",
                        "client-key": "/abs/k.pem",
                        "tokenFile": "t",
                        "exec": {
                            "command": "./bin/plugin",
                            "apiVersion": "client.authentication.k8s.io/v1beta1",
                            "env": None,
                            "args": None,
                            "interactiveMode": "IfAvailable",
                            "provideClusterInfo": False,
                        },
                    },
                }
            ],
            "current-context": "other",
        },
    ],
    [{}, {"clusters": None, "users": None, "contexts": None}],
]


@pytest.mark.parametrize("documents", FILES)
async def test_merged_as_kubectl_merges(tmp_path: Path, documents: list[dict[str, Any]]) -> None:
    paths = [str(write(tmp_path / str(number) / "config", each)) for number, each in enumerate(documents)]
    paths.insert(1, str(tmp_path / "missing"))
    code, said = await kubectl("config", "view", "--raw", "-o", "json", kubeconfig=os.pathsep.join(paths))
    assert code == 0, said
    theirs, ours = json.loads(said), Kubeconfig.load(paths)
    assert theirs["current-context"] == ours.current_context
    sections: list[tuple[str, EntryKind, Mapping[str, Any]]] = [
        ("clusters", "cluster", ours.clusters),
        ("users", "user", ours.users),
        ("contexts", "context", ours.contexts),
    ]
    for section, entry, entries in sections:
        expected = {
            each["name"]: rooted(without_nothing(each[entry]), ours.origins[entry, each["name"]])
            for each in theirs[section] or []
        }
        assert {name: to_builtins(each) for name, each in entries.items()} == expected


def without_nothing(entry: dict[str, Any]) -> dict[str, Any]:
    """kubectl prints some fields that say nothing."""
    kept = {key: without_nothing(value) if isinstance(value, dict) else value for key, value in entry.items()}
    return {key: value for key, value in kept.items() if value not in (None, False)}


def rooted(entry: dict[str, Any], origin: str) -> dict[str, Any]:
    """This command prints file names as they were written; kubectl resolves them when it connects."""
    for key in ("certificate-authority", "client-certificate", "client-key", "tokenFile", "command"):
        if key in entry:
            entry[key] = os.path.normpath(Path(origin).parent / entry[key])
    if "exec" in entry:
        rooted(entry["exec"], origin)
    return entry


@pytest.mark.parametrize(
    "document",
    [
        {"clusters": [cluster("a"), cluster("a")]},
        {"users": [{"name": "u", "user": {"token": 12}}]},
        {"clusters": [cluster("a", **{"certificate-authority-data": "%%%"})]},
        {"kind": "Pod"},
        {"clusters": "nonsense"},
    ],
)
async def test_refused_as_kubectl_refuses(tmp_path: Path, document: dict[str, Any]) -> None:
    path = write(tmp_path / "config", document)
    code, said = await kubectl("config", "view", kubeconfig=str(path))
    assert code != 0, said
    with pytest.raises(Exception, match=f"kubeconfig {path}: "):
        Kubeconfig.load([path])


async def test_a_kubeconfig_that_we_write_is_read_by_kubectl(real: Environment, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(Kubeconfig.load([real.write_kubeconfig(tmp_path / "given")]).to_yaml())
    code, said = await kubectl("get", "namespace", "default", "-o", "name", kubeconfig=str(path))
    assert (code, said) == (0, "namespace/default\n")
    async with Client(Config.load(path)) as client:
        assert b'"gitVersion"' in await client.request("GET", "/version")
