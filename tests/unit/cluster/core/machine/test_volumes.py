"""Which volumes a machine waits for."""

from __future__ import annotations

from typing import Any

from kapstan.cluster.core.machine.volumes import Attached, still_attached
from kapstan.k8s.core_v1 import Node, PersistentVolume
from kapstan.k8s.storage_v1 import VolumeAttachment
from kapstan.machinery.codec import convert
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.meta import now


def a_node(*volumes: str) -> Node:
    attached = [{"name": name, "devicePath": ""} for name in volumes]
    return convert({"metadata": {"name": "n"}, "status": {"volumesAttached": attached}}, Node)


def a_volume(name: str, claim: str = "", handle: str = "", kind: str = "PersistentVolumeClaim") -> PersistentVolume:
    spec: dict[str, Any] = {}
    if claim:
        spec["claimRef"] = {"kind": kind, "namespace": "ns", "name": claim}
    if handle:
        spec["csi"] = {"driver": "d", "volumeHandle": handle}
    return convert({"metadata": {"name": name}, "spec": spec}, PersistentVolume)


def an_attachment(volume: str) -> VolumeAttachment:
    spec = {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": volume}}
    return convert({"metadata": {"name": f"a-{volume}"}, "spec": spec, "status": {"attached": True}}, VolumeAttachment)


def test_a_volume_is_waited_for_wherever_it_is_known() -> None:
    volumes = [a_volume("one", "claim-one", "h1"), a_volume("two", "claim-two"), a_volume("three", "claim-three")]
    left = still_attached(a_node("kubernetes.io/csi/d^h1"), [an_attachment("two")], volumes, ())
    assert left == Attached(claims=("ns/claim-one", "ns/claim-two"))


def test_volumes_of_pods_that_stay_are_not_waited_for() -> None:
    left = still_attached(a_node(), [an_attachment("one")], [a_volume("one", "c")], {ObjectKey("ns", "c")})
    assert not any(left)


def test_what_cannot_be_explained_is_waited_for_and_told() -> None:
    volumes = [a_volume("unbound"), a_volume("odd", "x", kind="Other")]
    attachments = [an_attachment("unbound"), an_attachment("odd"), an_attachment("missing")]
    left = still_attached(a_node("in-tree"), attachments, volumes, ())
    assert left == Attached(
        volumes=("odd", "unbound"), unknown_of_node=("in-tree",), unknown_of_attachments=("missing",)
    )
    assert left.message(now()).count("\n") == 3
