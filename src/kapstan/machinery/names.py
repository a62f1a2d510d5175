"""Names: which texts Kubernetes accepts as names, label keys and label values, and what it says of the others.

Each `..._errors` function returns the complaints, in Kubernetes' words; an empty list means that the text is fine.
The patterns that messages show are Kubernetes' own. Lengths are in bytes, as there.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import TypeAlias

__all__ = (
    "NameCheck",
    "config_map_key_errors",
    "dns1035_label_errors",
    "dns1123_label_errors",
    "dns1123_subdomain_errors",
    "generate_name",
    "label_value_errors",
    "masked_prefix",
    "name_is_dns_label",
    "name_is_dns_subdomain",
    "name_is_path_segment",
    "path_segment_name_errors",
    "path_segment_prefix_errors",
    "qualified_name_errors",
    "random_suffix",
)

# A kind's rule for its objects' names; the flag says that the text is a `generateName`, which gets a suffix.
NameCheck: TypeAlias = Callable[[str, bool], list[str]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_NAME_PART})?"
_CONFIG_MAP_KEY = "[-._a-zA-Z0-9]+"

# The same languages, written so that matching never backtracks: a name of a megabyte may not stall the server.
_LINEAR_LABEL = "[a-z0-9][-a-z0-9]*+(?<!-)"
_LINEAR_NAME_PART = "[A-Za-z0-9][-A-Za-z0-9_.]*+(?<![-_.])"
_LABEL_RE = re.compile(_LINEAR_LABEL)
_SUBDOMAIN_RE = re.compile(rf"{_LINEAR_LABEL}(?:\.{_LINEAR_LABEL})*+")
_DNS1035_LABEL_RE = re.compile("[a-z][-a-z0-9]*+(?<!-)")
_NAME_PART_RE = re.compile(_LINEAR_NAME_PART)
_LABEL_VALUE_RE = re.compile(f"(?:{_LINEAR_NAME_PART})?")
_CONFIG_MAP_KEY_RE = re.compile(_CONFIG_MAP_KEY)

_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_DNS1035_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_NAME_PART_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_CONFIG_MAP_KEY_RULE = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"

_MAX_LABEL = 63
_MAX_SUBDOMAIN = 253

# Kubernetes leaves out vowels, and digits that look like them, so that no words come out.
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_MAX_GENERATED_BASE = _MAX_LABEL - _SUFFIX_LENGTH


def dns1123_label_errors(value: str) -> list[str]:
    """Complaints about a DNS label (RFC 1123), such as a namespace's name."""
    errors = _too_long(value, _MAX_LABEL)
    if not _LABEL_RE.fullmatch(value):
        if _SUBDOMAIN_RE.fullmatch(value):
            errors.append("must not contain dots")
        else:
            errors.append(_no_match(_LABEL_RULE, _LABEL, "my-name", "123-abc"))
    return errors


def dns1123_subdomain_errors(value: str) -> list[str]:
    """Complaints about a DNS subdomain (RFC 1123), such as most objects' names."""
    return _subdomain_errors(value, "characters")


def _subdomain_errors(value: str, unit: str) -> list[str]:
    errors = _too_long(value, _MAX_SUBDOMAIN, unit)
    if not _SUBDOMAIN_RE.fullmatch(value):
        errors.append(_no_match(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return errors


def dns1035_label_errors(value: str) -> list[str]:
    """Complaints about a DNS label (RFC 1035), such as a Service's name: it may not start with a digit."""
    errors = _too_long(value, _MAX_LABEL)
    if not _DNS1035_LABEL_RE.fullmatch(value):
        errors.append(_no_match(_DNS1035_LABEL_RULE, _DNS1035_LABEL, "my-name", "abc-123"))
    return errors


def qualified_name_errors(value: str) -> list[str]:
    """Complaints about a label key or a finalizer: a name with an optional DNS subdomain and a slash before it."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        rule = _no_match(_NAME_PART_RULE, _NAME_PART, "MyName", "my.name", "123-abc")
        return [f"a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    errors = []
    if slash:
        complaints = _subdomain_errors(prefix, "bytes") if prefix else ["must be non-empty"]
        errors += [f"prefix part {complaint}" for complaint in complaints]
    if not name:
        errors.append("name part must be non-empty")
    elif too_long := _too_long(name, _MAX_LABEL, "bytes"):
        errors.append(f"name part {too_long[0]}")
    if not _NAME_PART_RE.fullmatch(name):
        errors.append("name part " + _no_match(_NAME_PART_RULE, _NAME_PART, "MyName", "my.name", "123-abc"))
    return errors


def label_value_errors(value: str) -> list[str]:
    """Complaints about a label's value."""
    errors = _too_long(value, _MAX_LABEL, "bytes")
    if not _LABEL_VALUE_RE.fullmatch(value):
        errors.append(_no_match(_LABEL_VALUE_RULE, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return errors


def config_map_key_errors(value: str) -> list[str]:
    """Complaints about a key of a ConfigMap or Secret."""
    errors = _too_long(value, _MAX_SUBDOMAIN)
    if not _CONFIG_MAP_KEY_RE.fullmatch(value):
        errors.append(_no_match(_CONFIG_MAP_KEY_RULE, _CONFIG_MAP_KEY, "key.name", "KEY_NAME", "key-name"))
    if value in (".", ".."):
        errors.append(f"must not be '{value}'")
    elif value.startswith(".."):
        errors.append("must not start with '..'")
    return errors


def path_segment_name_errors(value: str) -> list[str]:
    """Complaints about a name that only has to fit into a URL path."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return path_segment_prefix_errors(value)


def path_segment_prefix_errors(value: str) -> list[str]:
    """Complaints about the beginning of such a name."""
    return [f"may not contain '{part}'" for part in "/%" if part in value]


def name_is_dns_subdomain(name: str, prefix: bool = False) -> list[str]:
    """The rule for the names of most kinds."""
    return dns1123_subdomain_errors(masked_prefix(name) if prefix else name)


def name_is_dns_label(name: str, prefix: bool = False) -> list[str]:
    """The rule for namespaces."""
    return dns1123_label_errors(masked_prefix(name) if prefix else name)


def name_is_path_segment(name: str, prefix: bool = False) -> list[str]:
    """The rule for kinds such as roles, and for objects embedded in others."""
    return path_segment_prefix_errors(name) if prefix else path_segment_name_errors(name)


def generate_name(base: str) -> str:
    """A name from `metadata.generateName`: the base, cut so that a DNS label results, and five random characters."""
    return base.encode()[:_MAX_GENERATED_BASE].decode(errors="ignore") + random_suffix(_SUFFIX_LENGTH)


def random_suffix(length: int) -> str:
    """Random characters that may stand in a DNS label."""
    return "".join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(length))


def masked_prefix(name: str) -> str:
    """A base may end with a dash, since more follows; Kubernetes masks the last two characters."""
    return name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name


def _too_long(value: str, limit: int, unit: str = "characters") -> list[str]:
    if len(value) * 4 <= limit or len(value.encode()) <= limit:
        return []
    return [f"must be no more than {limit} {unit}"]


def _no_match(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"
