"""Validation: what Kubernetes refuses though types and schema allow it, in its own words.

`VALIDATORS` has, for each built-in kind with rules of its own, what is checked of a new object, of a changed one, and
of one whose status changed. Certificate signing requests and definitions of custom kinds bring their own strategies.
"""

from kapstan.apiserver.strategy.validation.table import VALIDATORS
from kapstan.apiserver.strategy.validation.validator import Validator

__all__ = ("VALIDATORS", "Validator")
