"""Patches: the ways to say what changes in an object, and to work out what changed.

All functions take and return decoded JSON, change nothing that they are given, and share unchanged parts with it.
"""

from kapstan.machinery.patch.json_patch import TestFailed, apply_json_patch
from kapstan.machinery.patch.merge_patch import apply_merge_patch, diff, replaces_list
from kapstan.machinery.patch.strategic import apply_strategic_merge_patch

__all__ = (
    "TestFailed",
    "apply_json_patch",
    "apply_merge_patch",
    "apply_strategic_merge_patch",
    "diff",
    "replaces_list",
)
