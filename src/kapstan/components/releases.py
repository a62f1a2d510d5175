"""Releases: which programs there are, which project publishes them, and which version of each belongs together.

The only place that knows a default version. etcd is the newest patch of the line that kubeadm deploys with the
Kubernetes versions that we support (3.6 for 1.34 to 1.36), helm is there for tests to compare with.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kapstan.machinery.errors import ConfigError

__all__ = (
    "DEFAULT_PROGRAMS",
    "DEFAULT_VERSION",
    "ETCD",
    "HELM",
    "KUBERNETES",
    "PROGRAMS",
    "Project",
    "by_project",
    "check_version",
    "machine",
    "project_of",
)

DEFAULT_VERSION = "v1.36.3"

_VERSION = re.compile(r"v1\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?")


@dataclass(frozen=True)
class Project:
    """One upstream project: what it builds from one Go module of ours and publishes under one address."""

    name: str
    title: str
    programs: tuple[str, ...]
    # Go packages to build, by program; empty when the module is itself one program for all (kubernetes).
    packages: Mapping[str, str]
    mirror_variable: str
    address: str
    # The version that goes with every Kubernetes; None when it is the Kubernetes version itself.
    pinned: str | None = None
    # The Go variable that tells a program its version, where one has to be set.
    version_variable: str | None = None

    def version(self, kubernetes: str) -> str:
        """The version of this project that belongs to a Kubernetes version."""
        return self.pinned or kubernetes


KUBERNETES = Project(
    name="kubernetes",
    title="Kubernetes",
    programs=("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubeadm", "kubelet"),
    packages={},
    mirror_variable="KAPSTAN_KUBE_MIRROR",
    address="https://dl.k8s.io/release",
)
ETCD = Project(
    name="etcd",
    title="etcd",
    programs=("etcd", "etcdctl", "etcdutl"),
    packages={
        "etcd": "go.etcd.io/etcd/server/v3",
        "etcdctl": "go.etcd.io/etcd/etcdctl/v3",
        "etcdutl": "go.etcd.io/etcd/etcdutl/v3",
    },
    mirror_variable="KAPSTAN_ETCD_MIRROR",
    address="https://github.com/etcd-io/etcd/releases/download",
    pinned="v3.6.16",
)
HELM = Project(
    name="helm",
    title="helm",
    programs=("helm",),
    packages={"helm": "helm.sh/helm/v4/cmd/helm"},
    mirror_variable="KAPSTAN_HELM_MIRROR",
    address="https://get.helm.sh",
    pinned="v4.3.1",
    version_variable="helm.sh/helm/v4/internal/version.version",
)

PROGRAMS: Mapping[str, Project] = {
    program: project for project in (KUBERNETES, ETCD, HELM) for program in project.programs
}

# What a management plane and the tests need; a build makes the other Kubernetes programs along with these.
DEFAULT_PROGRAMS = (
    "etcd",
    "etcdctl",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "kubeadm",
    "helm",
)


def project_of(program: str) -> Project:
    """The project that a program belongs to."""
    try:
        return PROGRAMS[program]
    except KeyError:
        raise ConfigError(f"there is no program {program!r}; known are {', '.join(PROGRAMS)}") from None


def check_version(version: str) -> str:
    """A Kubernetes version in its written form, `v1.36.3`; the leading v may be missing."""
    written = version if version.startswith("v") else f"v{version}"
    if not _VERSION.fullmatch(written):
        raise ConfigError(f"{version!r} is not a Kubernetes version; write one like {DEFAULT_VERSION}")
    return written


def machine() -> tuple[str, str]:
    """This machine as Go names it: operating system and architecture."""
    architecture = platform.machine().lower()
    return sys.platform, {"x86_64": "amd64", "aarch64": "arm64"}.get(architecture, architecture)


def by_project(programs: Sequence[str]) -> list[tuple[Project, tuple[str, ...]]]:
    """Programs grouped by their project, in the order in which the projects are first named."""
    wanted = [(project_of(program), program) for program in dict.fromkeys(programs)]
    projects = {project.name: project for project, _ in wanted}
    return [(project, tuple(program for owner, program in wanted if owner is project)) for project in projects.values()]
