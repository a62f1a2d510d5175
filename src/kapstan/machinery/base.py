"""Model: the base of every API type."""

from __future__ import annotations

from typing import Any, TypeVar, dataclass_transform

import msgspec
from msgspec import Struct, StructMeta, field

__all__ = ("Model",)

M = TypeVar("M", bound="Model")


class _KeywordOnly(StructMeta):
    """msgspec does not pass `kw_only` on to subclasses; this does."""

    def __new__(mcls, *args: Any, **config: Any) -> _KeywordOnly:
        return super().__new__(mcls, *args, **{"kw_only": True, **config})


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Model(Struct, metaclass=_KeywordOnly, rename="camel", omit_defaults=True):
    """Base of every API type: keyword-only, camelCase in JSON, what is absent left out."""

    def replace(self: M, **changes: Any) -> M:
        """A shallow copy with these fields changed."""
        return msgspec.structs.replace(self, **changes)
