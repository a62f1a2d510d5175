"""Validation: what the schema of a HostedControlPlane cannot say.

Pure, so that the webhook and the controller ask the same question: a management plane may run without the webhook, and
a control plane must not skip a version there either.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from kapstan.cluster.api.controlplane.hosted import (
    ComponentSettings,
    HostedControlPlane,
    HostedControlPlaneSettings,
    HostedControlPlaneStatus,
)
from kapstan.cluster.api.controlplane.hostedtemplate import HostedControlPlaneTemplate
from kapstan.cluster.controlplane.hosted.version import OLDEST, KubernetesVersion
from kapstan.machinery.validation import FieldError, Path

__all__ = ("RESERVED_FLAGS", "validate", "validate_template", "validate_template_update", "validate_update")

_SERVING = ("bind-address", "secure-port", "tls-cert-file", "tls-private-key-file")
_KUBECONFIGS = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
_OWN_FIELDS = {
    "advertise-address": "exposure.advertiseAddress",
    "bind-address": "exposure.bindAddress",
    "secure-port": "exposure.port",
}

# Where a component stands, what it is to others and whom it trusts: other values would break it, or open the way into
# the data of another control plane.
RESERVED_FLAGS: dict[str, frozenset[str]] = {
    "apiServer": frozenset(
        (
            *_SERVING,
            "advertise-address",
            "client-ca-file",
            "etcd-cafile",
            "etcd-certfile",
            "etcd-keyfile",
            "etcd-prefix",
            "etcd-servers",
            "kubelet-client-certificate",
            "kubelet-client-key",
            "permit-port-sharing",
            "proxy-client-cert-file",
            "proxy-client-key-file",
            "requestheader-client-ca-file",
            "service-account-key-file",
            "service-account-signing-key-file",
        )
    ),
    "controllerManager": frozenset(
        (
            *_SERVING,
            *_KUBECONFIGS,
            "client-ca-file",
            "cluster-signing-cert-file",
            "cluster-signing-key-file",
            "leader-elect",
            "requestheader-client-ca-file",
            "root-ca-file",
            "service-account-private-key-file",
        )
    ),
    "scheduler": frozenset((*_SERVING, *_KUBECONFIGS, "leader-elect")),
    "etcd": frozenset(
        (
            "advertise-client-urls",
            "cert-file",
            "client-cert-auth",
            "config-file",
            "data-dir",
            "initial-advertise-peer-urls",
            "initial-cluster",
            "key-file",
            "listen-client-urls",
            "listen-peer-urls",
            "name",
            "peer-cert-file",
            "peer-client-cert-auth",
            "peer-key-file",
            "peer-trusted-ca-file",
            "trusted-ca-file",
            "unsafe-no-fsync",
            "wal-dir",
        )
    ),
}


def validate(control_plane: HostedControlPlane) -> list[FieldError]:
    """What is wrong with a control plane, whatever it was before."""
    spec, path = control_plane.spec, Path("spec")
    return [*_version_errors(spec.version, path.child("version")), *_settings_errors(spec, path)]


def validate_update(new: HostedControlPlane, old: HostedControlPlane) -> list[FieldError]:
    """What is wrong with a change. An object that is being deleted is left alone, so that it can go."""
    if new.deleting:
        return []
    errors = validate(new)
    if new.spec.version != old.spec.version and not errors:
        errors += version_step_errors(new.spec.version, old.status, Path("spec", "version"))
    return errors


def validate_template(template: HostedControlPlaneTemplate) -> list[FieldError]:
    return list(_settings_errors(template.spec.template.spec, Path("spec", "template", "spec")))


def validate_template_update(
    new: HostedControlPlaneTemplate, old: HostedControlPlaneTemplate, *, topology_dry_run: bool = False
) -> list[FieldError]:
    """A template is replaced, not changed. A trial of the topology controller may look as if it did."""
    if topology_dry_run or new.spec.template.spec == old.spec.template.spec:
        return validate_template(new)
    path = Path("spec", "template", "spec")
    return [FieldError.forbidden(path, "a template cannot be changed; make another, and refer to that")]


def version_step_errors(wanted: str, status: HostedControlPlaneStatus, path: Path) -> list[FieldError]:
    """Whether a version may follow what runs (or ran last, while it hibernates).

    What never ran may be given any version. What was rolled back may be given its old one again: it still runs.
    """
    running = [KubernetesVersion.parse(count.version) for count in status.versions]
    if not running:
        return []
    to, lowest, highest = KubernetesVersion.parse(wanted), min(running), max(running)
    if to < highest:
        why = f"is lower than {highest}, which runs: Kubernetes cannot go back to an older version"
    elif to.major != lowest.major or to.minor > lowest.minor + 1:
        following = f"v{lowest.major}.{lowest.minor + 1}"
        why = f"skips a minor version: {lowest} runs, upgrade to {following} first"
    else:
        return []
    return [FieldError.invalid(path, wanted, why)]


def _version_errors(version: str, path: Path) -> list[FieldError]:
    try:
        parsed = KubernetesVersion.parse(version)
    except ValueError:
        return [FieldError.invalid(path, version, "must be a version like v1.36.3")]
    if parsed < OLDEST:
        oldest = f"v{OLDEST.major}.{OLDEST.minor}"
        return [FieldError.invalid(path, version, f"is too old: hosted control planes need {oldest} or newer")]
    return []


def _settings_errors(spec: HostedControlPlaneSettings, path: Path) -> Iterator[FieldError]:
    components: dict[str, ComponentSettings | None] = {
        "apiServer": spec.api_server,
        "controllerManager": spec.controller_manager,
        "scheduler": spec.scheduler,
        "etcd": spec.etcd,
    }
    for name, component in components.items():
        yield from _argument_errors(name, component, path.child(name, "extraArgs"))
    if spec.exposure is not None:
        exposure = path.child("exposure")
        yield from _address_errors(spec.exposure.bind_address, exposure.child("bindAddress"))
        yield from _address_errors(spec.exposure.advertise_address, exposure.child("advertiseAddress"))


def _argument_errors(component: str, settings: ComponentSettings | None, path: Path) -> Iterator[FieldError]:
    for position, argument in enumerate(settings.extra_args if settings else ()):
        if argument.name in RESERVED_FLAGS[component]:
            instead = _OWN_FIELDS.get(argument.name) if component == "apiServer" else None
            why = f"set spec.{instead} instead" if instead else "is set by the control plane itself"
            yield FieldError.forbidden(path.index(position).child("name"), f"--{argument.name}: {why}")


def _address_errors(address: str | None, path: Path) -> Iterator[FieldError]:
    if address is None:
        return
    try:
        ipaddress.ip_address(address)
    except ValueError:
        yield FieldError.invalid(path, address, "must be an IP address")
