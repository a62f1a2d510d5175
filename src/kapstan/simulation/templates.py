"""Templates: pods made of one, and whether two are the same."""

from __future__ import annotations

import hashlib

from kapstan.k8s.core_v1 import Pod, PodSpec, PodTemplateSpec
from kapstan.machinery.codec import decode, encode
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.machinery.owners import owner_reference

__all__ = ("POD_TEMPLATE_HASH", "hash_of", "pod_of", "same", "with_label")

POD_TEMPLATE_HASH = "pod-template-hash"

# Letters and digits that Kubernetes makes names of: none that could form a word.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 10


def pod_of(template: PodTemplateSpec, owner: Resource, *, name: str = "") -> Pod:
    """A pod as the template describes it, with the owner as its controller. Without a name the server makes one up."""
    own: PodTemplateSpec = decode(encode(template), PodTemplateSpec)
    meta = own.metadata or ObjectMeta()
    return Pod(
        metadata=ObjectMeta(
            name=name,
            generate_name="" if name else f"{owner.name}-",
            namespace=owner.namespace,
            labels=meta.labels,
            annotations=meta.annotations,
            finalizers=meta.finalizers,
            owner_references=[owner_reference(owner, controller=True)],
        ),
        spec=own.spec or PodSpec(),
    )


def hash_of(template: PodTemplateSpec, collisions: int | None = None) -> str:
    """A short name for a template. Its letters are not those that kube-controller-manager would come to; nobody may
    rely on them, since they change with its releases."""
    digest = hashlib.blake2b(encode(template) + str(collisions or "").encode(), digest_size=_LENGTH).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest)


def same(one: PodTemplateSpec, other: PodTemplateSpec) -> bool:
    """Whether two templates make the same pods, whatever hash they are labelled with."""
    return _bare(one) == _bare(other)


def with_label(template: PodTemplateSpec, key: str, value: str) -> PodTemplateSpec:
    """A copy with one more label."""
    meta = template.metadata or ObjectMeta()
    return template.replace(metadata=meta.replace(labels={**meta.labels, key: value}))


def _bare(template: PodTemplateSpec) -> PodTemplateSpec:
    meta = template.metadata or ObjectMeta()
    kept = {key: value for key, value in meta.labels.items() if key != POD_TEMPLATE_HASH}
    return template.replace(metadata=meta.replace(labels=kept))
