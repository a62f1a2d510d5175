"""PodSecurity: pods beyond the level of their namespace are refused or warned of, as its labels say.

What makes pods is only warned of: it may be mended until it makes one. A namespace that becomes stricter is warned of
the pods which it has already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin
from kapstan.apiserver.admission.podsecurity.checks import violations
from kapstan.apiserver.admission.podsecurity.pod import Pod
from kapstan.apiserver.admission.podsecurity.policy import PREFIX, Level, Policy, policy_of
from kapstan.apiserver.authz.interface import forbidden_object
from kapstan.apiserver.registry.errors import invalid
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.gvk import GroupKind, GroupResource

__all__ = ("PodSecurity",)

Object = dict[str, Any]

_NAMESPACES = GroupResource("", "namespaces")
_PODS = GroupResource("", "pods")
_MOST_PODS = 3000  # that are looked at when a namespace becomes stricter
_TEMPLATES: Mapping[GroupResource, tuple[str, ...]] = {
    GroupResource("", "podtemplates"): ("template",),
    GroupResource("", "replicationcontrollers"): ("spec", "template"),
    GroupResource("apps", "replicasets"): ("spec", "template"),
    GroupResource("apps", "deployments"): ("spec", "template"),
    GroupResource("apps", "daemonsets"): ("spec", "template"),
    GroupResource("apps", "statefulsets"): ("spec", "template"),
    GroupResource("batch", "jobs"): ("spec", "template"),
    GroupResource("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}


class PodSecurity(Plugin):
    """Nothing happens in namespaces without its labels."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def handles(self, attributes: AdmissionAttributes) -> bool:
        if attributes.operation not in ("CREATE", "UPDATE"):
            return False
        resource, below = attributes.kind.gvr.group_resource, attributes.subresource
        if resource == _PODS:
            return below in ("", "ephemeralcontainers", "resize")
        return not below and (resource == _NAMESPACES or resource in _TEMPLATES)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        resource = attributes.kind.gvr.group_resource
        if resource == _NAMESPACES:
            self._judge_namespace(attributes)
            return
        namespace = self._storage.get(_NAMESPACES, attributes.namespace)
        if namespace is None or not any(label.startswith(PREFIX) for label in namespace.labels):
            return
        policy, _ = policy_of(namespace.labels)
        if resource == _PODS:
            _judge_pod(attributes, policy)
        else:
            _judge_template(attributes, policy, _TEMPLATES[resource])

    def _judge_namespace(self, attributes: AdmissionAttributes) -> None:
        assert attributes.object is not None
        new, errors = policy_of(attributes.object["metadata"].get("labels") or {})
        old, old_errors = Policy(), list[Any]()
        if attributes.old is not None:
            old, old_errors = policy_of(attributes.old["metadata"].get("labels") or {})
        if errors and errors != old_errors:
            raise invalid(GroupKind("", "Namespace"), attributes.name, errors)
        if attributes.old is None or new.enforce.name == "privileged" or new.enforce == old.enforce:
            return
        if new.enforce.minor == old.enforce.minor and new.enforce.strictness <= old.enforce.strictness:
            return
        for text in self._warnings(attributes.name, new.enforce):
            attributes.request.warn(text)

    def _warnings(self, namespace: str, level: Level) -> list[str]:
        """What there is against pods that are there already."""
        pods = _by_importance([codec.decode_any(one.value) for one in self._storage.list(_PODS, f"{namespace}/")])
        names: dict[str, list[str]] = {}
        for pod in pods[:_MOST_PODS]:
            if found := violations(level, Pod(pod["metadata"], pod["spec"])):
                names.setdefault(", ".join(one.reason for one in found), []).append(pod["metadata"]["name"])
        texts = []
        if len(pods) > _MOST_PODS:
            count = f"the first {_MOST_PODS} of {len(pods)} existing pods"
            texts.append(f"new PodSecurity enforce level only checked against {count}")
        if names:
            texts.append(
                f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{level}"'
            )
        return texts + sorted(f"{_some(found)}: {reasons}" for reasons, found in names.items())


def _by_importance(pods: list[Object]) -> list[Object]:
    """Of pods that one controller made, the first stands for all: the others come last."""
    seen: set[str] = set()
    first: list[Object] = []
    others: list[Object] = []
    for pod in pods:
        owner = next((one for one in pod["metadata"].get("ownerReferences") or () if one.get("controller")), None)
        (others if owner is not None and owner["uid"] in seen else first).append(pod)
        if owner is not None:
            seen.add(owner["uid"])
    return [*first, *others]


def _some(names: list[str]) -> str:
    others = len(names) - 1
    return min(names) + (f" (and {others} other {'pod' if others == 1 else 'pods'})" if others else "")


def _judge_pod(attributes: AdmissionAttributes, policy: Policy) -> None:
    pod = attributes.object
    assert pod is not None
    if attributes.old is not None and _images(attributes.old) >= _images(pod):
        return
    judged = Pod(pod["metadata"], pod["spec"])
    if found := violations(policy.enforce, judged):
        why = f'violates PodSecurity "{policy.enforce}": {", ".join(map(str, found))}'
        raise forbidden_object(_PODS, attributes.name, why)
    _warn(attributes, policy.warn, judged)


def _images(pod: Object) -> set[tuple[str, str, str]]:
    """What of a pod matters when it is changed: nothing but who runs which image."""
    fields = ("initContainers", "containers", "ephemeralContainers")
    return {
        (field, container["name"], container.get("image", ""))
        for field in fields
        for container in pod["spec"].get(field) or ()
    }


def _judge_template(attributes: AdmissionAttributes, policy: Policy, path: tuple[str, ...]) -> None:
    template: Any = attributes.object
    for key in path:
        template = (template or {}).get(key)
    if template and template.get("spec"):
        _warn(attributes, policy.warn, Pod(template.get("metadata") or {}, template["spec"]))


def _warn(attributes: AdmissionAttributes, level: Level, pod: Pod) -> None:
    if found := violations(level, pod):
        attributes.request.warn(f'would violate PodSecurity "{level}": {", ".join(map(str, found))}')
