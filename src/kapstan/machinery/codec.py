"""Encoding and decoding API types: JSON bytes, builtins, YAML.

Kubernetes writes null where Go has an empty list or map, and reads it so; the decoder does the same, at no cost to
documents without nulls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, TypeVar

import msgspec

from kapstan.machinery.duration import Duration
from kapstan.machinery.meta import MicroTime
from kapstan.machinery.quantity import Quantity

__all__ = ("convert", "decode", "decode_any", "decoder", "encode", "load_yaml", "to_builtins", "to_yaml")

T = TypeVar("T")


def encode(value: Any) -> bytes:
    """As JSON. Absent fields are left out."""
    return _ENCODER.encode(value)


def decode(data: bytes | bytearray | memoryview | msgspec.Raw | str, kind: type[T]) -> T:
    """From JSON; msgspec.ValidationError names the path of what does not fit."""
    try:
        return decoder(kind).decode(data)
    except msgspec.ValidationError:
        if b"null" not in (data.encode() if isinstance(data, str) else bytes(data)):
            raise
        return convert(decode_any(data), kind)


def decode_any(data: bytes | bytearray | memoryview | msgspec.Raw | str) -> Any:
    """From JSON, as plain dictionaries and lists."""
    return _ANY.decode(data)


def convert(value: Any, kind: type[T]) -> T:
    """From plain dictionaries and lists."""
    try:
        return msgspec.convert(value, kind, dec_hook=_dec_hook)
    except msgspec.ValidationError:
        return msgspec.convert(_without_nulls(value), kind, dec_hook=_dec_hook)


def to_builtins(value: Any) -> Any:
    """As plain dictionaries and lists, just as its JSON would decode."""
    return msgspec.to_builtins(value, enc_hook=_enc_hook)


def to_yaml(value: Any, *, sort_keys: bool = False) -> str:
    """As one YAML document, which Go reads as it was meant."""
    import yaml

    plain = to_builtins(value)
    text: str = yaml.dump(
        plain,
        Dumper=_yaml_dumper(compiled=_EMITTED_OTHERWISE.search(encode(plain)) is None),
        sort_keys=sort_keys,
        default_flow_style=False,
        width=100,
        allow_unicode=True,
    )
    return text


def load_yaml(text: str | bytes) -> Iterator[dict[str, Any]]:
    """The documents of a YAML or JSON stream, the empty ones left out. ValueError says what is wrong and where."""
    import yaml

    try:
        for document in yaml.load_all(text, Loader=_yaml_loader()):
            if document is None:
                continue
            if not isinstance(document, dict):
                found = type(document).__name__
                raise ValueError(f"expected an object, found {found}")  # noqa: TRY004 - wrong input, not a wrong call
            yield document
    except yaml.YAMLError as error:
        raise ValueError(f"not valid YAML: {error}") from error


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder of a type; making one is expensive, so it is made once."""
    found = _DECODERS.get(kind)
    if found is None:
        found = _DECODERS[kind] = msgspec.json.Decoder(kind, dec_hook=_dec_hook)
    return found


@cache
def _yaml_loader() -> Any:
    """A safe loader that leaves timestamps as the strings they are in JSON."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("KubernetesLoader", (base,), {})
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    return loader


@cache
def _yaml_dumper(*, compiled: bool) -> Any:
    """A safe dumper that writes a text of several lines as a block, and quotes what Go would not read as text.

    The compiled one (libyaml's, where PyYAML has it) takes a quarter of the time.
    """
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper) if compiled else yaml.SafeDumper

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        if _ODD_BREAKS.search(value):
            style: str | None = '"'  # only escaped are these read again as what they are
        else:
            style = "|" if "\n" in value else "'" if _NOT_TEXT_IN_GO.fullmatch(value) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _enc_hook(value: Any) -> Any:
    if isinstance(value, MicroTime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, Quantity | Duration):
        return str(value)
    raise NotImplementedError(f"{type(value).__qualname__} is not an API type")


def _dec_hook(kind: type, value: Any) -> Any:
    if kind is Quantity and isinstance(value, str | int | float):
        return _quantity(value if isinstance(value, str | int) else str(value))
    if kind is Duration and isinstance(value, str):
        return Duration.parse(value)
    if kind is MicroTime and isinstance(value, str):
        return _micro_time(value)
    raise ValueError(f"expected a {kind.__name__}, got {type(value).__name__}")


@lru_cache(4096)
def _quantity(text: str | int) -> Quantity:
    """Quantities are immutable, and a cluster's pods ask for the same few."""
    return Quantity(text)


def _micro_time(text: str) -> MicroTime:
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return MicroTime.fromtimestamp(parsed.timestamp(), UTC).replace(microsecond=parsed.microsecond)


_ODD_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")
# PyYAML writes these as they are, for it reads them as text.
_NOT_TEXT_IN_GO = re.compile(r"[yYnN]|[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+|0[oO][0-7]+|[-+]?0[bB][01_]+|=")
# In JSON: characters beyond ASCII, and keys that are empty, escaped or long. What is written must not depend on whether
# libyaml is there, and these it writes in another way (as valid as PyYAML's).
_EMITTED_OTHERWISE = re.compile(rb'[\x80-\xff]|[{,]"(?:"|[^"\\]*\\|[^"\\]{100})')
_ENCODER = msgspec.json.Encoder(enc_hook=_enc_hook)
_ANY = msgspec.json.Decoder()
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
