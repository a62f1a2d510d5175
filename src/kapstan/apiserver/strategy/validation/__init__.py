"""Validation: what Kubernetes refuses though types and schema allow it, in its own words.

`VALIDATORS` has, for each built-in kind with rules of its own, what is checked of a new object, of a changed one, and
of one whose status changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from kapstan.apiserver.strategy.validation.validator import Validator
from kapstan.machinery.gvk import GroupResource

__all__ = ("VALIDATORS", "Validator")

VALIDATORS: Mapping[GroupResource, Validator] = {}
