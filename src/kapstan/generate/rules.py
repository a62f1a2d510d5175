"""Policy rules: permissions merged into the fewest rules that say the same, always in the same order.

The merging is controller-gen's, so that a role reads like one that it wrote: verbs of one resource come together, then
resources with the same verbs, then groups, then URLs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from msgspec.structs import replace

from kapstan.runtime.declaration import Rule

__all__ = ("covers", "normalize", "policy_rules")

Document: TypeAlias = dict[str, Any]
_Key: TypeAlias = tuple[object, ...]


def policy_rules(rules: Iterable[Rule]) -> list[Document]:
    """The rules as a role lists them."""
    return [_document(rule) for rule in normalize(rules)]


def normalize(rules: Iterable[Rule]) -> list[Rule]:
    """The same permissions in as few rules as possible, sorted."""
    merged = list(_single(rules))
    merged = _merge(merged, "verbs", lambda rule: (rule.groups, rule.resources, rule.resource_names, rule.urls))
    merged = _merge(merged, "resources", lambda rule: (rule.groups, rule.resource_names, rule.urls, rule.verbs))
    merged = _merge(merged, "groups", lambda rule: (rule.resources, rule.resource_names, rule.urls, rule.verbs))
    merged = _merge(merged, "urls", lambda rule: (rule.groups, rule.resources, rule.resource_names, rule.verbs))
    merged.sort(key=_order)
    return [replace(rule, verbs=("*",)) if "*" in rule.verbs else rule for rule in merged]


def covers(
    rules: Iterable[Rule], *, verb: str, group: str = "", resource: str = "", name: str = "", url: str = ""
) -> bool:
    """Whether the rules allow a request, as the API server decides: `resource` is `pods` or `pods/log`."""
    return any(_allows(rule, verb, group, resource, name, url) for rule in rules)


def _allows(rule: Rule, verb: str, group: str, resource: str, name: str, url: str) -> bool:
    if verb not in rule.verbs and "*" not in rule.verbs:
        return False
    if url:
        return any(one in (url, "*") or (one.endswith("*") and url.startswith(one[:-1])) for one in rule.urls)
    _, _, subresource = resource.partition("/")
    resources = (resource, "*", f"*/{subresource}") if subresource else (resource, "*")
    return (
        (group in rule.groups or "*" in rule.groups)
        and any(one in rule.resources for one in resources)
        and (not rule.resource_names or name in rule.resource_names)
    )


def _single(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Each rule once for each of its resources, everything in it sorted; `core` is the group without a name."""
    for rule in rules:
        plain = replace(
            rule,
            groups=_sorted("" if group == "core" else group for group in rule.groups),
            verbs=_sorted(rule.verbs),
            resource_names=_sorted(rule.resource_names),
            urls=_sorted(rule.urls),
        )
        for resource in rule.resources or ("",):
            yield replace(plain, resources=(resource,) if resource else ())


def _merge(rules: Iterable[Rule], field: str, same: Callable[[Rule], _Key]) -> list[Rule]:
    """One rule of all that are the same but for one field."""
    found: dict[_Key, Rule] = {}
    for rule in rules:
        key = same(rule)
        first = found.get(key)
        values = getattr(rule, field) if first is None else (*getattr(first, field), *getattr(rule, field))
        found[key] = replace(first or rule, **{field: _sorted(values)})
    return list(found.values())


def _order(rule: Rule) -> str:
    return " + ".join("&".join(part) for part in (rule.groups, rule.resources, rule.resource_names, rule.urls))


def _sorted(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _document(rule: Rule) -> Document:
    parts = {
        "apiGroups": rule.groups,
        "nonResourceURLs": rule.urls,
        "resourceNames": rule.resource_names,
        "resources": rule.resources,
        "verbs": rule.verbs,
    }
    return {key: list(values) for key, values in parts.items() if values}
