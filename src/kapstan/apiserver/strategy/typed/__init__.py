"""Typed: built-in objects as Go's types hold them.

Kubernetes decodes what a client sends into Go structs and writes those back. That drops unknown fields and empty
values, writes some zeros that nobody sent, and brings times, quantities and bytes into one form. Everything behind it
may then rely on types and on that form.
"""

from kapstan.apiserver.strategy.typed.mismatch import Mismatch
from kapstan.apiserver.strategy.typed.structs import Struct, shape, struct_of

__all__ = ("Mismatch", "Struct", "shape", "struct_of")
