"""What the schema cannot say is refused with the path of the field."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kapstan.cluster.api.controlplane.hosted import (
    APIServerSettings,
    Argument,
    ComponentSettings,
    Exposure,
    HostedControlPlane,
    HostedControlPlaneSpec,
    HostedControlPlaneStatus,
    Runtime,
)
from kapstan.cluster.api.controlplane.hostedtemplate import (
    HostedControlPlaneTemplate,
    HostedControlPlaneTemplateResource,
    HostedControlPlaneTemplateResourceSpec,
    HostedControlPlaneTemplateSpec,
)
from kapstan.cluster.api.core.common import VersionCount
from kapstan.cluster.controlplane.hosted.validation import (
    RESERVED_FLAGS,
    validate,
    validate_template,
    validate_template_update,
    validate_update,
)
from kapstan.machinery.meta import ObjectMeta


def a_plane(version: str = "v1.36.3", *, running: tuple[str, ...] = ()) -> HostedControlPlane:
    return HostedControlPlane(
        metadata=ObjectMeta(name="a", namespace="b"),
        spec=HostedControlPlaneSpec(version=version),
        status=HostedControlPlaneStatus(versions=[VersionCount(version=name) for name in running]),
    )


def a_template(**settings: Any) -> HostedControlPlaneTemplate:
    spec = HostedControlPlaneTemplateResourceSpec(**settings)
    return HostedControlPlaneTemplate(
        spec=HostedControlPlaneTemplateSpec(template=HostedControlPlaneTemplateResource(spec=spec))
    )


@pytest.mark.parametrize(
    ("running", "old", "new"),
    [
        pytest.param(["v1.35.4"], "v1.35.4", "v1.35.5", id="patch"),
        pytest.param(["v1.35.4"], "v1.35.4", "v1.36.0", id="next minor"),
        pytest.param(["v1.35.4"], "v1.36.0", "v1.35.4", id="back after a rollback"),
        pytest.param(["v1.35.4"], "v1.36.0", "v1.36.3", id="another try of the same minor"),
        pytest.param([], "v1.36.3", "v1.34.0", id="down, before anything ran"),
        pytest.param(["v1.36.0-rc.0"], "v1.36.0-rc.0", "v1.36.0", id="from pre-release to release"),
    ],
)
def test_a_version_that_may_follow_is_accepted(running: list[str], old: str, new: str) -> None:
    assert validate_update(a_plane(new), a_plane(old, running=tuple(running))) == []


@pytest.mark.parametrize(
    ("running", "new", "message"),
    [
        pytest.param(
            ["v1.34.2"],
            "v1.36.0",
            'spec.version: Invalid value: "v1.36.0": skips a minor version: v1.34.2 runs, upgrade to v1.35 first',
            id="skip",
        ),
        pytest.param(
            ["v1.36.3"],
            "v1.35.4",
            'spec.version: Invalid value: "v1.35.4": is lower than v1.36.3, which runs: '
            "Kubernetes cannot go back to an older version",
            id="downgrade",
        ),
        pytest.param(
            ["v1.35.4", "v1.36.3"],
            "v1.35.4",
            'spec.version: Invalid value: "v1.35.4": is lower than v1.36.3, which runs: '
            "Kubernetes cannot go back to an older version",
            id="downgrade in the midst of an upgrade",
        ),
        pytest.param(
            ["v1.35.4", "v1.36.3"],
            "v1.37.0",
            'spec.version: Invalid value: "v1.37.0": skips a minor version: v1.35.4 runs, upgrade to v1.36 first',
            id="skip in the midst of an upgrade",
        ),
        pytest.param(
            [],
            "v1.33.1",
            'spec.version: Invalid value: "v1.33.1": is too old: hosted control planes need v1.34 or newer',
            id="too old",
        ),
    ],
)
def test_a_version_that_may_not_follow_is_refused(running: list[str], new: str, message: str) -> None:
    errors = validate_update(a_plane(new), a_plane("v1.35.0", running=tuple(running)))

    assert [str(error) for error in errors] == [message]


def test_what_is_being_deleted_can_always_be_changed() -> None:
    gone = a_plane("v1.36.3")
    gone.metadata.deletion_timestamp = datetime.now(UTC)

    assert validate_update(gone, a_plane("v1.34.0", running=("v1.34.0",))) == []


def test_flags_that_are_the_control_planes_own_are_refused_with_their_position() -> None:
    plane = a_plane()
    plane.spec.api_server = APIServerSettings(
        extra_args=[
            Argument(name="audit-log-maxage", value="7"),
            Argument(name="etcd-prefix", value="/other"),
            Argument(name="secure-port", value="6443"),
        ]
    )
    plane.spec.scheduler = ComponentSettings(extra_args=[Argument(name="kubeconfig", value="/etc/passwd")])

    assert [str(error) for error in validate(plane)] == [
        "spec.apiServer.extraArgs[1].name: Forbidden: --etcd-prefix: is set by the control plane itself",
        "spec.apiServer.extraArgs[2].name: Forbidden: --secure-port: set spec.exposure.port instead",
        "spec.scheduler.extraArgs[0].name: Forbidden: --kubeconfig: is set by the control plane itself",
    ]


@pytest.mark.parametrize("component", sorted(RESERVED_FLAGS))
def test_reserved_flags_of_every_component_are_refused_in_templates_too(component: str) -> None:
    flag = min(RESERVED_FLAGS[component])
    field = {"apiServer": "api_server", "controllerManager": "controller_manager"}.get(component, component)
    settings = APIServerSettings if component == "apiServer" else ComponentSettings
    template = a_template(**{field: settings(extra_args=[Argument(name=flag, value="x")])})

    assert [error.field for error in validate_template(template)] == [
        f"spec.template.spec.{component}.extraArgs[0].name"
    ]


def test_addresses_are_addresses() -> None:
    plane = a_plane()
    plane.spec.exposure = Exposure(type="HostPort", bind_address="1.2.3", advertise_address="::1")

    assert [str(error) for error in validate(plane)] == [
        'spec.exposure.bindAddress: Invalid value: "1.2.3": must be an IP address'
    ]


def test_a_template_is_replaced_not_changed() -> None:
    old, new = a_template(), a_template(runtime=Runtime(type="Simulated"))

    assert [error.field for error in validate_template_update(new, old)] == ["spec.template.spec"]
    assert validate_template_update(new, old, topology_dry_run=True) == []
    assert validate_template_update(new, new) == []
