"""Conversion: built-in kinds that are served in more than one form.

`CONVERTERS` has a converter for each collection whose versions differ in more than their `apiVersion`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kapstan.apiserver.strategy.conversion import autoscaling, events
from kapstan.machinery.gvk import GroupResource, GroupVersion

__all__ = ("CONVERTERS", "Conversions")

Object = dict[str, Any]


class Conversions:
    """Converts to each version by a function; an object that is of the wanted version already stays as it is."""

    def __init__(self, functions: Mapping[str, Callable[[Object], Object]]) -> None:
        self._functions = functions

    async def convert(self, objects: list[Object], to: GroupVersion) -> list[Object]:
        function = self._functions[str(to)]
        return [obj if obj["apiVersion"] == str(to) else function(obj) for obj in objects]


CONVERTERS: Mapping[GroupResource, Conversions] = {
    GroupResource("", "events"): Conversions({"v1": events.to_core, "events.k8s.io/v1": events.to_events}),
    GroupResource("autoscaling", "horizontalpodautoscalers"): Conversions(
        {"autoscaling/v1": autoscaling.to_v1, "autoscaling/v2": autoscaling.to_v2}
    ),
}
