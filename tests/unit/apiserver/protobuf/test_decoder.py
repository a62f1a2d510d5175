"""Decoding request bodies: the same JSON as Go's, and no harm from any bytes."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.apiserver import builtin, protobuf
from kapstan.apiserver.protobuf import decoder
from kapstan.apiserver.protobuf.messages import kind_message

VECTORS = Path(__file__).with_name("vectors") / "bodies.ndjson.gz"


@functools.cache
def cases() -> list[tuple[bytes, dict[str, Any]]]:
    """Recorded from Kubernetes' own code (`tools/oracles/protobuf`)."""
    lines = gzip.decompress(VECTORS.read_bytes()).splitlines()
    return [(base64.b64decode(case["body"]), case["json"]) for case in map(json.loads, lines)]


def test_random_objects_of_every_kind_decode_to_the_json_that_go_writes() -> None:
    for body, expected in cases():
        decoded = protobuf.decode(body)
        # Through text: 1 and 1.0 and True are equal in Python, and differ in JSON.
        assert json.dumps(decoded, sort_keys=True) == json.dumps(expected, sort_keys=True), expected["kind"]


def test_the_vectors_and_the_tables_cover_every_kind_that_the_server_accepts() -> None:
    recorded = {(expected["apiVersion"], expected["kind"]) for _, expected in cases()}
    for gv in builtin.group_versions():
        for resource in gv.resources:
            assert (gv.api_version, resource.kind) in recorded
            assert kind_message(gv.api_version, resource.kind) is not None
    assert {("policy/v1", "Eviction"), ("autoscaling/v1", "Scale"), ("v1", "DeleteOptions")} <= recorded
    assert ("authentication.k8s.io/v1", "TokenRequest") in recorded


# A tiny encoder, for bodies that no Go client would send.


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(encoded) + bytes([number])


def part(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def body(api_version: str, kind: str, *fields: bytes) -> bytes:
    type_meta = part(1, api_version) + part(2, kind)
    return protobuf.MAGIC + part(1, type_meta) + part(2, b"".join(fields)) + part(3, "") + part(4, "")


def config_map(*fields: bytes) -> dict[str, Any]:
    return protobuf.decode(body("v1", "ConfigMap", *fields))


def test_a_namespace_as_kubectl_creates_it() -> None:
    sent = body("v1", "Namespace", part(1, part(1, "team-a") + part(2, "") + part(8, b"")), part(2, b""), part(3, b""))
    assert protobuf.decode(sent) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "team-a"},
        "spec": {},
        "status": {},
    }


def test_delete_options_are_read_in_any_group() -> None:
    sent = body("cluster.x-k8s.io/v1beta2", "DeleteOptions", part(1, 0), part(4, "Background"))
    decoded = protobuf.decode(sent)
    assert decoded["gracePeriodSeconds"] == 0
    assert decoded["propagationPolicy"] == "Background"


def test_the_caller_names_the_kind_where_the_body_does_not() -> None:
    sent = protobuf.MAGIC + part(2, part(1, part(1, "a")))
    assert protobuf.decode(sent, "v1", "ConfigMap")["metadata"]["name"] == "a"
    with pytest.raises(protobuf.UnknownKind, match="does not name its apiVersion and kind"):
        protobuf.decode(sent)


def test_a_kind_without_a_protobuf_form_is_refused_with_advice() -> None:
    with pytest.raises(protobuf.UnknownKind, match=r"kind Cluster of cluster\.x-k8s\.io/v1beta2 .* send JSON"):
        protobuf.decode(body("cluster.x-k8s.io/v1beta2", "Cluster"))


def test_json_is_not_taken_for_protobuf() -> None:
    assert not protobuf.is_protobuf(b'{"kind":"Pod"}')
    with pytest.raises(protobuf.ProtobufError, match="does not start"):
        protobuf.decode(b'{"kind":"Pod"}')


def test_fields_of_newer_clients_are_stepped_over() -> None:
    newer = part(900, "text") + part(901, 7) + varint(902 << 3 | 1) + bytes(8) + varint(903 << 3 | 5) + bytes(4)
    group = varint(904 << 3 | 3) + part(1, "within") + varint(904 << 3 | 4)
    assert config_map(newer, group, part(2, part(1, "a") + part(2, "b")))["data"] == {"a": "b"}


def test_a_message_in_two_parts_is_merged() -> None:
    decoded = config_map(part(1, part(1, "first") + part(3, "space")), part(1, part(1, "second")))
    assert decoded["metadata"] == {"name": "second", "namespace": "space"}


def test_an_empty_value_takes_back_an_earlier_one() -> None:
    assert config_map(part(1, part(1, "first") + part(1, "")))["metadata"] == {}


def test_numbers_may_come_packed() -> None:
    groups = varint(1) + varint(2) + varint(300)
    sent = body("v1", "Pod", part(2, part(14, part(4, groups) + part(4, 4))))
    assert protobuf.decode(sent)["spec"]["securityContext"]["supplementalGroups"] == [1, 2, 300, 4]


def test_map_entries_without_key_or_value_have_empty_ones() -> None:
    assert config_map(part(2, b""), part(3, part(1, "k")))["data"] == {"": ""}
    assert config_map(part(3, part(1, "k")))["binaryData"] == {"k": ""}


def test_times_have_seconds_and_micro_times_microseconds() -> None:
    moment = part(1, 1_700_000_000) + part(2, 123_456_789)
    lease = protobuf.decode(body("coordination.k8s.io/v1", "Lease", part(1, part(8, moment)), part(2, part(4, moment))))
    assert lease["metadata"]["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert lease["spec"]["renewTime"] == "2023-11-14T22:13:20.123456Z"


def test_quantities_are_written_in_their_canonical_form() -> None:
    limits = part(1, part(1, "memory") + part(2, part(1, "1024Mi")))
    sent = body("v1", "ResourceQuota", part(2, limits))
    assert protobuf.decode(sent)["spec"]["hard"] == {"memory": "1Gi"}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (part(1, part(1, b"\xff")), "metadata.name: is not valid UTF-8"),
        (part(1, b"\x0a\x05ab"), "metadata.name: ends before its length says"),
        (part(1, varint(1 << 3) + b"\x01"), "metadata: field name of ObjectMeta has the wrong wire type 0"),
        (varint(7), "ConfigMap has a field with the illegal number 0"),
        (varint(900 << 3 | 7), "wire type 7 does not exist here"),
        (varint(900 << 3 | 4), "wire type 4 does not exist here"),
        (varint(900 << 3) + b"\xff" * 11, "a number has more than ten bytes"),
        (varint(900 << 3 | 3) * 200, "groups are nested more than 100 deep"),
        (part(1, part(8, part(1, 1 << 60))), "metadata.creationTimestamp: 1152921504606846976 seconds from 1970 are"),
        (part(1, part(17, part(7, part(1, "{")))), "metadata.managedFields.fieldsV1: does not hold JSON"),
    ],
)
def test_a_broken_body_is_refused_with_a_sentence_that_leads_to_the_field(fields: bytes, problem: str) -> None:
    with pytest.raises(protobuf.ProtobufError) as refused:
        config_map(fields)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize("quantity", ["", "a lot", "1Xi"])
def test_a_quantity_that_is_none_is_refused(quantity: str) -> None:
    limits = part(1, part(1, "memory") + part(2, part(1, quantity)))
    with pytest.raises(protobuf.ProtobufError, match=r"spec\.hard"):
        protobuf.decode(body("v1", "ResourceQuota", part(2, limits)))


def test_numbers_that_json_cannot_hold_are_refused() -> None:
    maximum = varint(9 << 3 | 1) + struct.pack("<d", float("nan"))
    with pytest.raises(protobuf.ProtobufError, match="is no number that JSON can hold"):
        protobuf.decode(definition(maximum))


def definition(schema: bytes) -> bytes:
    version = part(1, "v1") + part(4, part(1, schema))
    return body("apiextensions.k8s.io/v1", "CustomResourceDefinition", part(2, part(7, version)))


def nested_schema(levels: int) -> bytes:
    schema = part(5, "object")
    for _ in range(levels):
        schema = part(5, "object") + part(29, part(1, "p") + part(2, schema))
    return schema


def test_schemas_nest_deeply_but_not_without_end() -> None:
    version = protobuf.decode(definition(nested_schema(90)))["spec"]["versions"][0]
    schema, levels = version["schema"]["openAPIV3Schema"], 0
    while "properties" in schema:
        schema, levels = schema["properties"]["p"], levels + 1
    assert levels == 90
    with pytest.raises(protobuf.ProtobufError, match="nested more than 120 deep"):
        protobuf.decode(definition(nested_schema(5000)))


def test_a_small_body_cannot_unfold_to_any_number_of_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "MAX_OBJECTS", 1000)
    with pytest.raises(protobuf.ProtobufError, match="more than 1000 objects"):
        protobuf.decode(body("v1", "PodList", part(2, b"") * 2000))


@given(st.binary(max_size=400))
def test_no_bytes_do_harm(data: bytes) -> None:
    for kind in ("ConfigMap", "Pod", "Status", "DeleteOptions"):
        decodes_or_refuses(body("v1", kind, data))
    decodes_or_refuses(definition(data))
    decodes_or_refuses(protobuf.MAGIC + data)


@given(st.data())
def test_no_damage_to_a_real_body_does_harm(data: st.DataObject) -> None:
    damaged = bytearray(data.draw(st.sampled_from(cases()))[0])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(4, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    decodes_or_refuses(bytes(damaged))


def test_a_body_cut_short_anywhere_does_no_harm() -> None:
    whole = max((sent for sent, _ in cases()), key=len)
    for length in range(len(whole)):
        decodes_or_refuses(whole[:length])


def decodes_or_refuses(sent: bytes) -> None:
    try:
        decoded = protobuf.decode(sent)
    except protobuf.ProtobufError:
        return
    json.dumps(decoded, allow_nan=False)
