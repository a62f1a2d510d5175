"""Least privilege, tried: the calls that reconcilers really made, held against the rules that they declare.

    async with env.run(MemcachedReconciler()) as operator:
        ...                                  # everything that the operator can do
    assert_least_privilege(operator.calls, MemcachedReconciler)

A call that no rule allows fails the test, and so does a rule of `@rbac` that no call has needed. What the runtime does
by itself (caches, status, finalizers, events) is allowed by implied rules, which need not all be used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from kapstan.generate.rbac import declared_rules, implied_rules
from kapstan.generate.rules import covers
from kapstan.runtime.declaration import Rule
from kapstan.testing.calls import Call

__all__ = ("assert_least_privilege", "missing_rules", "unused_rules")


def assert_least_privilege(calls: Iterable[Call], *declaring: type[Any]) -> None:
    """AssertionError if a call is not allowed by the rules of these classes, or a declared permission was not used."""
    made = list(calls)
    complaints = [f"no rule allows: {call}" for call in missing_rules(made, *declaring)]
    complaints += [f"no call needs: {_told(rule)}" for rule in unused_rules(made, *declaring)]
    if complaints:
        raise AssertionError("\n".join([f"{', '.join(cls.__name__ for cls in declaring)}:", *complaints]))


def missing_rules(calls: Iterable[Call], *declaring: type[Any]) -> list[Call]:
    """The calls that no rule allows, each once."""
    rules = [rule for cls in declaring for rule in (*declared_rules(cls), *implied_rules(cls))]
    return [call for call in dict.fromkeys(call._replace(name="") for call in calls) if not _allowed(rules, call)]


def unused_rules(calls: Iterable[Call], *declaring: type[Any]) -> list[Rule]:
    """The permissions that `@rbac` asks for and no call has used, one verb and resource each."""
    made = [*calls]
    # An informer lists if the server cannot stream what is there, so whoever watches may have to.
    made += [call._replace(verb="list") for call in made if call.verb == "watch"]
    single = [part for cls in declaring for rule in declared_rules(cls) for part in _single(rule)]
    return [rule for rule in single if not _admits(rule) and not any(_allowed([rule], call) for call in made)]


def _admits(rule: Rule) -> bool:
    """Whether a rule is asked for by an admission plugin only, when an owner reference blocks the owner's deletion."""
    return rule.verbs == ("update",) and rule.resources[0].endswith("/finalizers")


def _allowed(rules: Iterable[Rule], call: Call) -> bool:
    here = [rule for rule in rules if not rule.namespace or rule.namespace == call.namespace]
    return covers(here, verb=call.verb, group=call.group, resource=call.resource, name=call.name)


def _single(rule: Rule) -> Iterator[Rule]:
    """A rule as permissions of one verb on one resource. URLs are not the API server's calls, so they are not here."""
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                yield replace(rule, groups=(group,), resources=(resource,), verbs=(verb,))


def _told(rule: Rule) -> str:
    return str(Call(rule.verbs[0], rule.groups[0], rule.resources[0], rule.namespace))
