"""Names: what a domain, group, version, kind or project may be called, and what Python calls them."""

from __future__ import annotations

import keyword
import re
import sys

from kapstan.scaffold.errors import ScaffoldError

__all__ = (
    "check_domain",
    "check_group",
    "check_image",
    "check_kind",
    "check_own_kind",
    "check_package",
    "check_plural",
    "check_project_name",
    "check_version",
    "module_name",
    "package_of",
)

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL)
_DNS_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/:@-]*")
# What the generated modules call something else.
_TAKEN_KINDS = {
    "Annotated", "Column", "Condition", "Container", "Default", "Deployment", "Environment", "Int32", "ListMap",
    "Manager", "Meta", "Model", "ObjectMeta", "Reconciler", "Resource", "Result",
}  # fmt: skip
_TAKEN_PACKAGES = {"kapstan", "tests", "src", "config"} | set(sys.stdlib_module_names)


def check_domain(domain: str) -> None:
    _check(_DNS_SUBDOMAIN, domain, 253, "domain", "a DNS name in lower case, such as example.com")


def check_group(group: str) -> None:
    _check(_DNS_SUBDOMAIN, group, 253, "group", "a DNS name in lower case, such as cache; the domain is added to it")


def check_version(version: str) -> None:
    _check(_VERSION, version, 63, "version", "like v1, v1beta1 or v2alpha3")


def check_kind(kind: str) -> None:
    _check(_KIND, kind, 63, "kind", "in CamelCase, such as Memcached")


def check_own_kind(kind: str) -> None:
    """A kind that the project defines becomes a class beside others."""
    if kind in _TAKEN_KINDS or keyword.iskeyword(kind):
        raise ScaffoldError(f"kind {kind!r} is a name that the generated code needs for something else; choose another")


def check_plural(plural: str) -> None:
    _check(_DNS_1035, plural, 63, "plural", "in lower case, such as memcacheds")


def check_project_name(name: str) -> None:
    _check(_DNS_LABEL, name, 50, "project name", "a DNS label in lower case, such as memcached-operator")


def check_package(package: str) -> None:
    if not package.isidentifier() or package != package.lower() or keyword.iskeyword(package):
        raise ScaffoldError(f"{package!r} is no name for a Python package; give one with --repo, such as my_operator")
    if package in _TAKEN_PACKAGES:
        raise ScaffoldError(f"a package named {package!r} would hide another; give another name with --repo")


def check_image(image: str) -> None:
    _check(_IMAGE, image, 255, "image", "a reference to a container image, such as memcached:1.6")


def module_name(name: str) -> str:
    """What a module for something of that name is called: `FirstMate` → firstmate, `Class` → class_."""
    module = re.sub(r"\W", "_", name.lower())
    if module[0].isdigit():
        module = f"_{module}"
    return f"{module}_" if keyword.iskeyword(module) else module


def package_of(name: str) -> str:
    """The package of a project: `memcached-operator` → memcached_operator."""
    return re.sub(r"\W", "_", name.lower())


def _check(pattern: re.Pattern[str], value: str, longest: int, what: str, rule: str) -> None:
    if not pattern.fullmatch(value):
        raise ScaffoldError(f"{what} {value!r} is not valid: it must be {rule}")
    if len(value) > longest:
        raise ScaffoldError(f"{what} {value!r} is too long: it may have {longest} characters")
