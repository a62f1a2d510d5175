"""Manifests as text: YAML whose every byte follows from its content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

__all__ = ("manifest", "manifests")


def manifest(document: Mapping[str, Any]) -> str:
    """One document, keys sorted, long texts readable."""
    import yaml

    return "---\n" + yaml.dump(
        _plain(document), Dumper=_dumper(), sort_keys=True, default_flow_style=False, width=100, allow_unicode=True
    )


def manifests(documents: Iterable[Mapping[str, Any]]) -> str:
    """Several documents in one stream."""
    return "".join(manifest(document) for document in documents)


def _plain(value: Any) -> Any:
    """Fresh dictionaries and lists: YAML would write anchors where one is used twice."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


@cache
def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes a text of several lines as a block."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return Dumper
