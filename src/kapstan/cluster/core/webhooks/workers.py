"""What sets and deployments of machines have in common: their defaults, and the rules for their template."""

from __future__ import annotations

from collections.abc import Iterator

from kapstan.cluster.api.core.common import TemplateMetadata
from kapstan.cluster.api.core.machineset import MachineNaming
from kapstan.cluster.core.machineset.naming import BadNaming, rendered
from kapstan.cluster.core.machineset.preflight import CHECKS, skipped_checks
from kapstan.cluster.core.replicas import Group
from kapstan.cluster.core.webhooks.machine import version_errors
from kapstan.cluster.core.webhooks.taints import taint_errors
from kapstan.cluster.skeleton import labels
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.labels import InvalidSelector, from_label_selector
from kapstan.machinery.names import dns1123_subdomain_errors, label_value_errors, qualified_name_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = ("default_workers", "worker_errors")

_SPEC = Path("spec")
_TEMPLATE = _SPEC.child("template")


# --- Defaults ---------------------------------------------------------------------------------------------------------


def default_workers(new: Group, old: Group | None, *, name_label: str, cluster_label: bool) -> None:
    """Fill in what can be known. Without a selector, machines are told by the name of who has them."""
    spec, template = new.spec, new.spec.template
    new.metadata.labels[labels.CLUSTER_NAME] = spec.cluster_name
    spec.replicas = _replicas(new, old)
    metadata = template.metadata or TemplateMetadata()
    selected = dict(spec.selector.match_labels or {})
    if not selected and not spec.selector.match_expressions:
        selected[name_label] = metadata.labels[name_label] = labels.label_value(new.name)
    if cluster_label:
        selected[labels.CLUSTER_NAME] = metadata.labels[labels.CLUSTER_NAME] = spec.cluster_name
    spec.selector.match_labels = selected
    if metadata.labels or metadata.annotations:
        template.metadata = metadata
    if template.spec.version and not template.spec.version.startswith("v"):
        template.spec.version = f"v{template.spec.version}"


def _replicas(new: Group, old: Group | None) -> int:
    """As given; else within the range of the autoscaler, which takes over only there; else one."""
    if new.spec.replicas is not None:
        return new.spec.replicas
    least, most = (_size(new, name) for name in (labels.AUTOSCALER_MIN_SIZE, labels.AUTOSCALER_MAX_SIZE))
    if least is None or most is None:
        return 1
    before = old.spec.replicas if old is not None else None
    return least if before is None else min(max(before, least), most)


def _size(new: Group, annotation: str) -> int | None:
    text = new.metadata.annotations.get(annotation)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"annotation {annotation} is a number of machines, got {text!r}") from None


# --- Rules ------------------------------------------------------------------------------------------------------------


def worker_errors(new: Group, old: Group | None) -> Iterator[FieldError]:
    """What is wrong with a set or a deployment."""
    spec, template = new.spec, new.spec.template.spec
    if template.bootstrap.config_ref is None and template.bootstrap.data_secret_name is None:
        path = "spec.template.spec.bootstrap"
        detail = f"expected either {path}.dataSecretName or {path}.configRef to be populated"
        yield FieldError.required(_TEMPLATE.child("spec", "bootstrap"), detail)
    yield from _selector_errors(new)
    yield from _skipped_errors(new)
    if old is not None and old.spec.cluster_name != spec.cluster_name:
        yield FieldError.forbidden(_SPEC.child("clusterName"), "field is immutable")
    if spec.cluster_name != template.cluster_name:
        detail = "spec.clusterName and spec.template.spec.clusterName must be set to the same value"
        yield FieldError.invalid(_SPEC.child("clusterName"), spec.cluster_name, detail)
    yield from version_errors(template.version, _TEMPLATE.child("spec", "version"))
    yield from taint_errors(template.taints, _TEMPLATE.child("spec", "taints"), workers=True)
    yield from _naming_errors(spec.machine_naming)
    yield from _metadata_errors(spec.template.metadata or TemplateMetadata())


def _selector_errors(new: Group) -> Iterator[FieldError]:
    try:
        selector = from_label_selector(new.spec.selector)
    except InvalidSelector as error:
        yield FieldError.invalid(_SPEC.child("selector"), to_builtins(new.spec.selector), str(error))
        return
    metadata = new.spec.template.metadata
    given = metadata.labels if metadata is not None else {}
    if not selector.matches(given):
        detail = f'must match spec.selector "{selector}"'
        yield FieldError.invalid(_TEMPLATE.child("metadata", "labels"), given, detail)


def _skipped_errors(new: Group) -> Iterator[FieldError]:
    unknown = sorted(skipped_checks(new.metadata.annotations) - {*CHECKS})
    if unknown:
        path = Path("metadata").child("annotations", labels.SKIP_PREFLIGHT_CHECKS)
        yield FieldError.invalid(
            path, unknown, f"skipped preflight check(s) must be among: {', '.join(sorted(CHECKS))}"
        )


def _naming_errors(naming: MachineNaming | None) -> Iterator[FieldError]:
    template = naming.template if naming is not None else None
    if template is None:
        return
    path = _SPEC.child("machineNaming", "template")
    try:
        name = rendered(template, "cluster", "machineset", "abcde")
    except BadNaming as error:
        yield FieldError.invalid(path, template, f"invalid template: {error}")
        return
    for complaint in dns1123_subdomain_errors(name):
        detail = f"invalid template, generated names would not be valid Kubernetes object names: {complaint}"
        yield FieldError.invalid(path, template, detail)


def _metadata_errors(metadata: TemplateMetadata) -> Iterator[FieldError]:
    path = _TEMPLATE.child("metadata")
    for key, value in metadata.labels.items():
        for complaint in (*qualified_name_errors(key), *label_value_errors(value)):
            yield FieldError.invalid(path.child("labels"), f"{key}={value}", complaint)
    for key in metadata.annotations:
        for complaint in qualified_name_errors(key.lower()):
            yield FieldError.invalid(path.child("annotations"), key, complaint)
