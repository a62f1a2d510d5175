"""Volumes of pods: one source each, and what each source needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kapstan.apiserver.strategy.validation.claims import claim_spec
from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    complaints,
    dns_label,
    dns_subdomain,
    file_mode,
    label_selector,
    labels,
    one_of,
)
from kapstan.apiserver.strategy.validation.downward import downward_file
from kapstan.apiserver.strategy.validation.paths import backsteps, descending_path, local_path
from kapstan.machinery.golang import quote
from kapstan.machinery.names import dns1123_subdomain_errors
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.validation import FieldError, Path

__all__ = ("csi_driver_name", "host_path", "needs", "nfs", "volumes")

_ONE_TYPE = "may not specify more than 1 volume type"
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_TEN_MINUTES = 600


def volumes(
    found: Sequence[Object], metadata: Object | None, path: Path, *, is_pod: bool
) -> tuple[dict[str, Object], Rules]:
    """The volumes that are in order, by name, and what is wrong with the others."""
    good: dict[str, Object] = {}
    errors: list[FieldError] = []
    pod_name = (metadata or {}).get("name", "")
    made = {f"{pod_name}-{volume['name']}" for volume in found if pod_name and volume.get("ephemeral") is not None}
    for position, volume in enumerate(found):
        at = path.index(position)
        name = volume["name"]
        wrong = list(_volume(volume, pod_name, at, is_pod=is_pod))
        wrong += dns_label(name, at.child("name")) if name else [FieldError.required(at.child("name"))]
        if name in good:
            wrong.append(FieldError.duplicate(at.child("name"), name))
        if not wrong:
            good[name] = volume
        errors += wrong
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in made:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(FieldError.invalid(at.child("persistentVolumeClaim", "claimName"), claim, detail))
    return good, iter(errors)


def _volume(volume: Object, pod_name: str, path: Path, *, is_pod: bool) -> Rules:
    count = 0
    for source in _SOURCES:
        if volume.get(source) is None:
            continue
        count += 1
        if count > 1:
            yield FieldError.forbidden(path.child(source), _ONE_TYPE)
            continue
        yield from _SOURCES[source](volume[source], path.child(source))
        if source == "ephemeral" and pod_name and volume["name"]:
            claim = f"{pod_name}-{volume['name']}"
            for complaint in dns1123_subdomain_errors(claim):
                yield FieldError.invalid(path.child("name"), volume["name"], f"PVC name {quote(claim)}: {complaint}")
        if source == "image" and is_pod and not volume[source].get("reference"):
            yield FieldError.required(path.child("image", "reference"))
    if not count:
        yield FieldError.required(path, "must specify a volume type")


# Sources --------------------------------------------------------------------------------------------------------------


def needs(*fields: str) -> Callable[[Object, Path], Rules]:
    """The rule that some fields must have a value."""

    def rule(source: Object, path: Path) -> Rules:
        for field in fields:
            if not source.get(field):
                yield FieldError.required(path.child(field))

    return rule


def _empty_dir(source: Object, path: Path) -> Rules:
    if Quantity(source.get("sizeLimit", "0")) < 0:
        yield FieldError.forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity")


def host_path(source: Object, path: Path) -> Rules:
    if not source.get("path"):
        yield FieldError.required(path.child("path"))
        return
    yield from backsteps(source["path"], path.child("path"))
    kind = source.get("type", "")
    if kind not in _HOST_PATH_TYPES:
        yield FieldError.not_supported(path.child("type"), kind, _HOST_PATH_TYPES)


def _git_repo(source: Object, path: Path) -> Rules:
    yield from needs("repository")(source, path)
    yield from descending_path(source.get("directory", ""), path.child("directory"))


def _secret(source: Object, path: Path) -> Rules:
    yield from needs("secretName")(source, path)
    yield from _items(source, path)


def _config_map(source: Object, path: Path) -> Rules:
    yield from needs("name")(source, path)
    yield from _items(source, path)


def _items(source: Object, path: Path) -> Rules:
    yield from file_mode(source.get("defaultMode"), path.child("defaultMode"))
    for position, item in enumerate(source.get("items") or ()):
        yield from _key_to_path(item, path.child("items").index(position))


def _key_to_path(item: Object, path: Path) -> Rules:
    yield from needs("key", "path")(item, path)
    yield from local_path(item.get("path", ""), path.child("path"))
    yield from file_mode(item.get("mode"), path.child("mode"))


def nfs(source: Object, path: Path) -> Rules:
    yield from needs("server", "path")(source, path)
    if not source.get("path", "").startswith("/"):
        yield FieldError.invalid(path.child("path"), source.get("path", ""), "must be an absolute path")


def _iscsi(source: Object, path: Path) -> Rules:
    yield from needs("targetPortal")(source, path)
    name = source.get("iqn", "")
    if not name:
        yield FieldError.required(path.child("iqn"))
    elif not name.startswith(("iqn", "eui", "naa")):
        yield FieldError.invalid(path.child("iqn"), name, "must be valid format starting with iqn, eui, or naa")
    if not 0 <= source.get("lun", 0) <= 255:
        yield FieldError.invalid(path.child("lun"), source["lun"], "must be between 0 and 255, inclusive")


def _downward_api(source: Object, path: Path) -> Rules:
    yield from file_mode(source.get("defaultMode"), path.child("defaultMode"))
    for item in source.get("items") or ():
        yield from downward_file(item, path)


def _projected(source: Object, path: Path) -> Rules:
    yield from file_mode(source.get("defaultMode"), path.child("defaultMode"))
    taken: set[str] = set()
    for position, part in enumerate(source.get("sources") or ()):
        at = path.child("sources").index(position)
        for name in ("secret", "configMap"):
            if part.get(name) is not None:
                yield from _projected_keys(part[name], path, at.child(name), taken)
        if part.get("downwardAPI") is not None:
            for item in part["downwardAPI"].get("items") or ():
                yield from downward_file(item, at.child("downwardAPI"))
                yield from _take_path(item.get("path", ""), item.get("path", ""), path, taken)
        if part.get("serviceAccountToken") is not None:
            yield from _projected_token(part["serviceAccountToken"], path, at.child("serviceAccountToken"))
        if part.get("clusterTrustBundle") is not None:
            yield from _projected_bundle(part["clusterTrustBundle"], path, at.child("clusterTrustBundle"), taken)
        if sum(value is not None for value in part.values()) > 1:
            yield FieldError.forbidden(at, "may not specify more than 1 volume type per source")


def _projected_keys(part: Object, path: Path, at: Path, taken: set[str]) -> Rules:
    yield from needs("name")(part, at)
    for position, item in enumerate(part.get("items") or ()):
        yield from _key_to_path(item, at.child("items").index(position))
        yield from _take_path(item.get("path", ""), part.get("name", ""), path, taken)


def _take_path(value: str, shown: str, path: Path, taken: set[str]) -> Rules:
    if value and value in taken:
        yield FieldError.invalid(path, shown, "conflicting duplicate paths")
    taken.add(value)


def _projected_token(part: Object, path: Path, at: Path) -> Rules:
    seconds = part.get("expirationSeconds", 0)
    if seconds < _TEN_MINUTES:
        detail = "may not specify a duration less than 10 minutes"
        yield FieldError.invalid(at.child("expirationSeconds"), seconds, detail)
    if seconds > 2**32:
        detail = "may not specify a duration larger than 2^32 seconds"
        yield FieldError.invalid(at.child("expirationSeconds"), seconds, detail)
    if not part.get("path"):
        yield FieldError.required(path.child("path"))
    else:
        yield from local_path(part["path"], path.child("path"))


def _projected_bundle(part: Object, path: Path, at: Path, taken: set[str]) -> Rules:
    by_name, by_signer = "name" in part, "signerName" in part
    if by_name and by_signer:
        yield FieldError.invalid(at, part, "only one of name and signerName may be used")
    elif by_name:
        if not part["name"]:
            yield FieldError.required(at.child("name"), "must be a valid object name")
        if part.get("labelSelector") is not None:
            detail = "labelSelector must be unset if name is specified"
            yield FieldError.invalid(at.child("labelSelector"), part["labelSelector"], detail)
    elif by_signer:
        if not part["signerName"]:
            yield FieldError.required(at.child("signerName"), "must be a valid signer name")
        yield from label_selector(part.get("labelSelector"), at.child("labelSelector"))
    else:
        yield FieldError.required(at, "either name or signerName must be specified")
    yield from needs("path")(part, at)
    yield from local_path(part.get("path", ""), at.child("path"))
    yield from _take_path(part.get("path", ""), part.get("path", ""), path, taken)


def csi_driver_name(name: str, path: Path) -> Rules:
    if not name:
        yield FieldError.required(path)
        return
    if len(name.encode()) > 63:
        yield FieldError.too_long(path, 63)
    for complaint in dns1123_subdomain_errors(name.lower()):
        yield FieldError.invalid(path, name, complaint)


def _csi(source: Object, path: Path) -> Rules:
    yield from csi_driver_name(source.get("driver", ""), path.child("driver"))
    secret = source.get("nodePublishSecretRef")
    if secret is not None:
        if not secret.get("name"):
            yield FieldError.required(path.child("nodePublishSecretRef", "name"))
        else:
            yield from dns_subdomain(secret["name"], path.child("name"))


def _ephemeral(source: Object, path: Path) -> Rules:
    template, at = source.get("volumeClaimTemplate"), path.child("volumeClaimTemplate")
    if template is None:
        yield FieldError.required(at)
        return
    metadata = template.get("metadata") or {}
    yield from labels(metadata.get("labels"), at.child("metadata", "labels"))
    for field in metadata:
        if field not in ("labels", "annotations"):
            yield FieldError.forbidden(at.child("metadata", field), "cannot be set")
    yield from claim_spec(template["spec"], at.child("spec"))


def _image(source: Object, path: Path) -> Rules:
    yield from one_of(source.get("pullPolicy"), path.child("pullPolicy"), _PULL_POLICIES)


def _flocker(source: Object, path: Path) -> Rules:
    if not source.get("datasetName") and not source.get("datasetUUID"):
        yield FieldError.required(path, "one of datasetName and datasetUUID is required")
    if source.get("datasetName") and source.get("datasetUUID"):
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        yield FieldError.invalid(path, "resource", detail)
    yield from complaints(source.get("datasetName", ""), path.child("datasetName"), _no_slash)


def _no_slash(value: str) -> list[str]:
    return ["must not contain '/'"] if "/" in value else []


# In Kubernetes' order: the first one that is there is looked at, the others are too many.
_SOURCES: Mapping[str, Callable[[Object, Path], Rules]] = {
    "emptyDir": _empty_dir,
    "hostPath": host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": needs("pdName"),
    "awsElasticBlockStore": needs("volumeID"),
    "secret": _secret,
    "nfs": nfs,
    "iscsi": _iscsi,
    "glusterfs": needs("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": needs("claimName"),
    "rbd": needs("monitors", "image"),
    "cinder": needs("volumeID"),
    "cephfs": needs("monitors"),
    "quobyte": needs("registry", "volume"),
    "downwardAPI": _downward_api,
    "fc": needs(),
    "flexVolume": needs("driver"),
    "configMap": _config_map,
    "azureFile": needs("secretName", "shareName"),
    "vsphereVolume": needs("volumePath"),
    "photonPersistentDisk": needs("pdID"),
    "portworxVolume": needs("volumeID"),
    "azureDisk": needs("diskName", "diskURI"),
    "storageos": needs("volumeName"),
    "projected": _projected,
    "scaleIO": needs("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
