"""Server-side apply: who owns which field of an object, and merging what somebody applies into it.

`FieldManager` is all that an API server needs; what it is made of stands in modules of its own.
"""

from kapstan.machinery.apply.entries import keep_timestamps, validate_managed_fields
from kapstan.machinery.apply.managedfields import FieldManager, excluding
from kapstan.machinery.apply.scale import from_scale, to_scale

__all__ = ("FieldManager", "excluding", "from_scale", "keep_timestamps", "to_scale", "validate_managed_fields")
