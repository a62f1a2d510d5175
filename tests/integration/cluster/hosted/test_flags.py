"""Every flag that we give is one that the program knows, in each version that is at hand."""

from __future__ import annotations

import asyncio
import re

import pytest
from tests.unit.cluster.controlplane.hosted.builders import AUTHORITIES, DATASTORE, LAYOUT, some_settings

from kapstan.cluster.controlplane.hosted.components import desired_components
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName
from kapstan.cluster.controlplane.hosted.runtime.process.slots import SHARING
from kapstan.components import assets, cache
from kapstan.components.releases import DEFAULT_VERSION

VERSIONS = [
    version
    for version in ("v1.34.0", "v1.35.4", DEFAULT_VERSION)
    if version == DEFAULT_VERSION or cache.executable(cache.version_folder(version) / ComponentName.API_SERVER)
]
NETWORK = {"clusterNetwork": {"pods": {"cidrBlocks": ["10.0.0.0/16"]}}}


async def known_flags(program: str, version: str) -> set[str]:
    path = (await assets.find_all([program], version))[program]
    process = await asyncio.create_subprocess_exec(
        path, "--help", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    # kube-apiserver hides some, and etcd says more in its own way.
    return set(re.findall(r"--([a-z][a-z0-9-]+)", said.decode()))


@pytest.mark.real
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("component", list(ComponentName))
async def test_every_flag_is_known(component: ComponentName, version: str) -> None:
    settings = some_settings(version=version, cluster=NETWORK)
    specs = desired_components(settings, LAYOUT, DATASTORE, AUTHORITIES)
    spec = next(one for one in specs if one.name is component)
    arguments = (*spec.arguments, SHARING) if component is ComponentName.API_SERVER else spec.arguments

    given = {argument.removeprefix("--").partition("=")[0] for argument in arguments}

    assert given - await known_flags(component, version) == set()
