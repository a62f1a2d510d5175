"""API types: what decoding keeps, what encoding leaves out, how a kind is registered."""

from datetime import UTC, datetime
from typing import Annotated
from unittest import mock

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, field

from kapstan.machinery import codec
from kapstan.machinery.codec import convert, decode, encode, load_yaml, to_builtins, to_yaml
from kapstan.machinery.gvk import GroupVersion, GroupVersionKind, ObjectKey
from kapstan.machinery.markers import Default, ListMap
from kapstan.machinery.meta import Condition, Duration, Int32, IntOrString, MicroTime, ObjectMeta, Quantity, Time
from kapstan.machinery.model import Model, Resource, Scale, resource_info
from kapstan.machinery.scheme import SCHEME, pluralize, resource


class CacheSpec(Model):
    size: Annotated[Int32, Meta(ge=1, le=3), Default(1)] | None = None
    memory: Quantity | None = None
    lifetime: Duration | None = None
    surge: IntOrString | None = None
    renewed: MicroTime | None = None


class CacheStatus(Model):
    conditions: Annotated[list[Condition], ListMap("type")] = field(default_factory=list)


@resource(group="test.kapstan.dev", version="v1", scale=Scale(spec=".spec.size"), short_names=["ca"])
class Cache(Resource):
    spec: CacheSpec = field(default_factory=CacheSpec)
    status: CacheStatus = field(default_factory=CacheStatus)


def test_a_new_object_knows_its_kind() -> None:
    cache = Cache(metadata=ObjectMeta(name="a", namespace="b"))
    assert (cache.api_version, cache.kind) == ("test.kapstan.dev/v1", "Cache")
    assert cache.key == ObjectKey("b", "a")
    assert cache.gvk == GroupVersionKind("test.kapstan.dev", "v1", "Cache")


def test_absent_fields_are_left_out() -> None:
    encoded = to_builtins(Cache(metadata=ObjectMeta(name="a"), spec=CacheSpec(size=2)))
    assert encoded["spec"] == {"size": 2}
    assert encoded["metadata"] == {"name": "a"}


def test_kubernetes_own_types_round_trip() -> None:
    text = {
        "size": 3,
        "memory": "1.5Gi",
        "lifetime": "1h5m0s",
        "surge": "25%",
        "renewed": "2026-01-02T03:04:05.000006Z",
    }
    cache = convert({"spec": text}, Cache)
    assert cache.spec.memory == Quantity("1536Mi")
    assert cache.spec.renewed == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert to_builtins(cache)["spec"] == text


def test_micro_times_are_written_with_six_digits() -> None:
    spec = CacheSpec(renewed=MicroTime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert encode(spec) == b'{"renewed":"2026-01-02T03:04:05.000000Z"}'


def test_null_is_read_as_absent_just_as_go_does() -> None:
    cache = decode(
        b'{"metadata":{"name":"a","labels":null,"creationTimestamp":null},"status":{"conditions":null}}', Cache
    )
    assert cache.metadata.labels == {}
    assert cache.status.conditions == []


def test_a_value_of_the_wrong_type_is_refused_with_its_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.spec\.size"):
        decode(b'{"spec":{"size":"many"}}', Cache)
    with pytest.raises(msgspec.ValidationError, match=r"\$\.spec\.memory"):
        decode(b'{"spec":{"memory":"much"}}', Cache)


def test_yaml_round_trips_and_keeps_times_as_text() -> None:
    cache = Cache(metadata=ObjectMeta(name="a", creation_timestamp=Time(2026, 1, 2, tzinfo=UTC)))
    (document,) = load_yaml(to_yaml(cache) + "---\n")
    assert document["metadata"]["creationTimestamp"] == "2026-01-02T00:00:00Z"
    assert convert(document, Cache) == cache


@pytest.mark.parametrize("text", ["a: [", "- a\n- b", "just text"])
def test_a_document_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not valid YAML|expected an object"):
        list(load_yaml(text))


def test_registration_completes_what_was_not_said() -> None:
    info = resource_info(Cache)
    assert (info.plural, info.singular, info.list_kind) == ("caches", "cache", "CacheList")
    assert info.subresources == ("status", "scale")
    assert SCHEME.find(info.gvk) is Cache
    assert isinstance(SCHEME.typed({"apiVersion": "test.kapstan.dev/v1", "kind": "Cache"}), Cache)


def test_an_unknown_kind_has_no_class() -> None:
    with pytest.raises(LookupError, match="no class is registered"):
        SCHEME.typed({"apiVersion": "v9", "kind": "Nothing"})
    with pytest.raises(TypeError, match="decorate it with @resource"):
        resource_info(Resource)


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("policy", "policies"),
        ("ingress", "ingresses"),
        ("endpoints", "endpoints"),
        ("machine", "machines"),
        ("key", "keys"),
    ],
)
def test_plurals_are_kubernetes_guesses(singular: str, plural: str) -> None:
    assert pluralize(singular) == plural


@pytest.mark.parametrize("text", ["", "a/b/c", "/v1", "apps/"])
def test_a_malformed_api_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="apiVersion"):
        GroupVersion.parse(text)


@pytest.mark.parametrize(
    "text", ["y", "N", "1e3", "0o7", "=", "yes", "1.5", "null", "2026-01-02", "a: b", "line\nline"]
)
def test_text_that_looks_like_something_else_stays_text(text: str) -> None:
    written = to_yaml({"a": text})
    assert list(load_yaml(written)) == [{"a": text}]
    assert written != f"a: {text}\n"


@given(st.dictionaries(st.text(), st.text()))
def test_any_text_survives_yaml(texts: dict[str, str]) -> None:
    assert list(load_yaml(to_yaml({"texts": texts}))) == [{"texts": texts}]


_ODD = st.text(max_size=130) | st.text("ab :#-\n\t'\"\\\\|>,{}[]é\u00a0\U0001f600", max_size=130)


@pytest.mark.skipif(
    not yaml.__with_libyaml__, reason="this PyYAML was built without libyaml: there is one emitter only"
)
@given(st.recursive(_ODD | st.integers() | st.booleans(), lambda sub: st.lists(sub) | st.dictionaries(_ODD, sub)))
def test_yaml_is_the_same_with_and_without_libyaml(value: object) -> None:
    """Files that are checked in must not depend on how PyYAML was built."""
    written = to_yaml({"value": value})
    python = codec._yaml_dumper(compiled=False)
    with mock.patch.object(codec, "_yaml_dumper", return_value=python):
        assert to_yaml({"value": value}) == written


@pytest.mark.skipif(
    not yaml.__with_libyaml__, reason="this PyYAML was built without libyaml: there is one emitter only"
)
def test_ordinary_yaml_is_written_by_libyaml() -> None:
    manifest = {"kind": "Pod", "metadata": {"labels": {"app.kubernetes.io/name": "a"}}, "data": {"a": "one\ntwo\n"}}
    assert codec._EMITTED_OTHERWISE.search(encode(manifest)) is None
    assert issubclass(codec._yaml_dumper(compiled=True), yaml.CSafeDumper)


def test_plain_text_is_not_quoted() -> None:
    assert to_yaml({"a": "plain", "b": "v1.36.3"}) == "a: plain\nb: v1.36.3\n"
