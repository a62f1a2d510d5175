"""Typed Python modules from CRDs, which generate the same CRDs again."""

from kapstan.generate.models.module import models_of

__all__ = ("models_of",)
