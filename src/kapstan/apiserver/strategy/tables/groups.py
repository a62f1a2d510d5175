"""Tables of the smaller groups' kinds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kapstan.apiserver.strategy.base import TableColumn
from kapstan.apiserver.strategy.tables.core import load_balancer
from kapstan.apiserver.strategy.tables.table import AGE, NAME, Object, Table, boolean, integer, text, wide
from kapstan.apiserver.strategy.tables.writing import (
    NONE,
    UNSET,
    age,
    human_duration,
    joined,
    label_selector,
    name_of,
    shortened,
)
from kapstan.machinery.golang import format_value

__all__ = ("TABLES",)

_SHOWN = 3
_DEFAULT_INGRESS_CLASS = "ingressclass.kubernetes.io/is-default-class"
_DEFAULT_STORAGE_CLASSES = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _named(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), age(obj, now)]


def _counted(field: str) -> Any:
    def cells(obj: Object, now: datetime) -> list[Any]:
        return [name_of(obj), len(obj.get(field) or ()), age(obj, now)]

    return cells


def _default_marked(obj: Object, *annotations: str) -> str:
    """The name, with a remark if the object is the default of its kind."""
    found = obj["metadata"].get("annotations") or {}
    is_default = any(found.get(annotation) == "true" for annotation in annotations)
    return f"{name_of(obj)} (default)" if is_default else name_of(obj)


def _api_service(obj: Object, now: datetime) -> list[Any]:
    service = obj["spec"].get("service")
    conditions = (obj.get("status") or {}).get("conditions") or ()
    available = next((one for one in conditions if one["type"] == "Available"), {"status": "Unknown"})
    shown = available["status"]
    if shown != "True" and available.get("reason"):
        shown = f"{shown} ({available['reason']})"
    where = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    return [name_of(obj), where, shown, age(obj, now)]


def _signing_request(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    seconds = spec.get("expirationSeconds")
    return [
        name_of(obj),
        age(obj, now),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if seconds is None else human_duration(timedelta(seconds=seconds)),
        _signing_state(status),
    ]


def _signing_state(status: Object) -> str:
    types = {condition["type"] for condition in status.get("conditions") or ()}
    words = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    if "Failed" in types:
        words.append("Failed")
    if status.get("certificate"):
        words.append("Issued")
    return ",".join(words)


def _ingress(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    rules = spec.get("rules") or ()
    return [
        name_of(obj),
        spec.get("ingressClassName", NONE),
        _hosts(rules),
        ",".join(load_balancer(obj.get("status") or {})),
        "80, 443" if spec.get("tls") else "80",
        age(obj, now),
    ]


def _hosts(rules: Any) -> str:
    shown: list[str] = []
    more = False
    for rule in rules:
        more = more or len(shown) == _SHOWN
        if not more and rule.get("host"):
            shown.append(rule["host"])
    if not shown:
        return "*"
    text = ",".join(shown)
    return f"{text} + {len(rules) - _SHOWN} more..." if more else text


def _ingress_class(obj: Object, now: datetime) -> list[Any]:
    parameters = obj["spec"].get("parameters")
    shown = NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if "apiGroup" in parameters else ""
        shown = f"{parameters['kind']}{group}/{parameters['name']}"
    controller = obj["spec"].get("controller", "")
    return [_default_marked(obj, _DEFAULT_INGRESS_CLASS), controller, shown, age(obj, now)]


def _ip_address(obj: Object, now: datetime) -> list[Any]:
    """Kubernetes writes the age, too, in a column that it does not declare."""
    parent = (obj.get("spec") or {}).get("parentRef")
    shown = NONE
    if parent:
        resource = parent.get("resource", "")
        shown = (f"{resource}.{parent['group']}" if parent.get("group") else resource).lower()
        shown = "/".join(part for part in (shown, parent.get("namespace"), parent.get("name", "")) if part)
    return [name_of(obj), shown, age(obj, now)]


def _network_policy(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), label_selector(obj["spec"].get("podSelector") or {}), age(obj, now)]


def _service_cidr(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), ",".join((obj.get("spec") or {}).get("cidrs") or ()), age(obj, now)]


def _disruption_budget(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    wanted = [str(spec.get(field, "N/A")) for field in ("minAvailable", "maxUnavailable")]
    return [name_of(obj), *wanted, (obj.get("status") or {}).get("disruptionsAllowed", 0), age(obj, now)]


def _role_binding(obj: Object, now: datetime) -> list[Any]:
    subjects = obj.get("subjects") or ()
    names = [
        ", ".join(_subject(one) for one in subjects if one.get("kind") == kind)
        for kind in ("User", "Group", "ServiceAccount")
    ]
    role = obj["roleRef"]
    return [name_of(obj), f"{role.get('kind', '')}/{role.get('name', '')}", age(obj, now), *names]


def _subject(subject: Object) -> str:
    name: str = subject.get("name", "")
    account = subject.get("kind") == "ServiceAccount" and subject.get("namespace")
    return f"{subject['namespace']}/{name}" if account else name


def _csi_driver(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    requests = spec.get("tokenRequests")
    return [
        name_of(obj),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        UNSET if requests is None else ",".join(one.get("audience", "") for one in requests),
        spec.get("requiresRepublish", False),
        joined(spec.get("volumeLifecycleModes") or ()),
        age(obj, now),
    ]


def _csi_node(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), len(obj["spec"].get("drivers") or ()), age(obj, now)]


def _storage_class(obj: Object, now: datetime) -> list[Any]:
    return [
        _default_marked(obj, *_DEFAULT_STORAGE_CLASSES),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        obj.get("allowVolumeExpansion", False),
        age(obj, now),
    ]


def _volume_attachment(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    return [
        name_of(obj),
        spec.get("attacher", ""),
        spec["source"].get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        (obj.get("status") or {}).get("attached", False),
        age(obj, now),
    ]


def _volume_attributes_class(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("driverName", ""), age(obj, now)]


def _policy(rules: str) -> Any:
    def cells(obj: Object, now: datetime) -> list[Any]:
        spec = obj["spec"]
        kind = spec.get("paramKind")
        shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
        return [name_of(obj), len(spec.get(rules) or ()), shown, age(obj, now)]

    return cells


def _policy_binding(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    parameter, shown = spec.get("paramRef") or {}, UNSET
    if parameter.get("name"):
        shown = f"{parameter.get('namespace') or '*'}/{parameter['name']}"
    elif parameter.get("selector") is not None:
        shown = _go_selector(parameter["selector"])
    return [name_of(obj), spec.get("policyName", ""), shown, age(obj, now)]


def _go_selector(selector: Object) -> str:
    """A label selector as Go's generated `String` writes it."""
    labels = selector.get("matchLabels") or {}
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one['key']},Operator:{one['operator']},"
        f"Values:{format_value(one.get('values') or [])},}},"
        for one in selector.get("matchExpressions") or ()
    )
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _priority_class(obj: Object, now: datetime) -> list[Any]:
    values = [obj.get("value", 0), obj.get("globalDefault", False)]
    return [name_of(obj), *values, age(obj, now), obj.get("preemptionPolicy", "")]


def _lease(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), (obj.get("spec") or {}).get("holderIdentity", ""), age(obj, now)]


def _runtime_class(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("handler", ""), age(obj, now)]


def _endpoint_slice(obj: Object, now: datetime) -> list[Any]:
    ports = [str(port.get("port", port.get("name", "*"))) for port in obj.get("ports") or ()]
    addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    shown = [shortened(items, _SHOWN, empty=UNSET) for items in (ports, addresses)]
    return [name_of(obj), obj.get("addressType", ""), *shown, age(obj, now)]


def _resource_claim(obj: Object, now: datetime) -> list[Any]:
    status = obj.get("status") or {}
    deleted = bool(obj["metadata"].get("deletionTimestamp"))
    words = ["deleted"] if deleted else []
    if status.get("allocation") is not None:
        words += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    elif not deleted:
        words.append("pending")
    return [name_of(obj), ",".join(words), age(obj, now)]


def _resource_slice(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    pool = (spec.get("pool") or {}).get("name", "")
    return [name_of(obj), spec.get("nodeName", ""), spec.get("driver", ""), pool, age(obj, now)]


def _flow_schema(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    conditions = (obj.get("status") or {}).get("conditions") or ()
    dangling = next((one.get("status", "") for one in conditions if one["type"] == "Dangling"), "?")
    return [
        name_of(obj),
        spec["priorityLevelConfiguration"].get("name", ""),
        spec.get("matchingPrecedence", 0),
        (spec.get("distinguisherMethod") or {}).get("type", NONE),
        age(obj, now),
        dangling,
    ]


def _priority_level(obj: Object, now: datetime) -> list[Any]:
    limited = obj["spec"].get("limited") or {}
    queuing = (limited.get("limitResponse") or {}).get("queuing") or {}
    values = [queuing.get(field, NONE) for field in ("queues", "handSize", "queueLengthLimit")]
    shares = limited.get("nominalConcurrencyShares", NONE)
    return [name_of(obj), obj["spec"].get("type", ""), shares, *values, age(obj, now)]


_NAMED = Table((NAME, AGE), _named)
_WEBHOOKS = Table((NAME, *integer("Webhooks"), AGE), _counted("webhooks"))
_POLICY_BINDINGS = Table((NAME, *text("PolicyName", "ParamRef"), AGE), _policy_binding)
_ROLE_BINDINGS = Table((NAME, *text("Role"), AGE, *wide("Users", "Groups", "ServiceAccounts")), _role_binding)

TABLES: Mapping[str, Table] = {
    "apiservices": Table((NAME, *text("Service", "Available"), AGE), _api_service),
    "certificatesigningrequests": Table(
        (NAME, AGE, *text("SignerName", "Requestor", "RequestedDuration", "Condition")), _signing_request
    ),
    "clusterrolebindings": _ROLE_BINDINGS,
    "csidrivers": Table(
        (
            NAME,
            *boolean("AttachRequired", "PodInfoOnMount", "StorageCapacity"),
            *text("TokenRequests"),
            *boolean("RequiresRepublish"),
            *text("Modes"),
            AGE,
        ),
        _csi_driver,
    ),
    "csinodes": Table((NAME, *integer("Drivers"), AGE), _csi_node),
    "deviceclasses": _NAMED,
    "endpointslices": Table((NAME, *text("AddressType", "Ports", "Endpoints"), AGE), _endpoint_slice),
    "flowschemas": Table(
        (
            NAME,
            *text("PriorityLevel", "MatchingPrecedence", "DistinguisherMethod"),
            AGE,
            TableColumn("MissingPL", description="Whether its priority level is missing."),
        ),
        _flow_schema,
    ),
    "ingressclasses": Table((NAME, *text("Controller", "Parameters"), AGE), _ingress_class),
    "ingresses": Table((NAME, *text("Class", "Hosts", "Address", "Ports"), AGE), _ingress),
    "ipaddresses": Table((NAME, *text("ParentRef")), _ip_address),
    "leases": Table((NAME, *text("Holder"), AGE), _lease),
    "mutatingadmissionpolicies": Table((NAME, *integer("Mutations"), *text("ParamKind"), AGE), _policy("mutations")),
    "mutatingadmissionpolicybindings": _POLICY_BINDINGS,
    "mutatingwebhookconfigurations": _WEBHOOKS,
    "networkpolicies": Table((NAME, *text("Pod-Selector"), AGE), _network_policy),
    "poddisruptionbudgets": Table(
        (NAME, *text("Min Available", "Max Unavailable"), *integer("Allowed Disruptions"), AGE), _disruption_budget
    ),
    "priorityclasses": Table(
        (NAME, *integer("Value"), *boolean("Global-Default"), AGE, *text("PreemptionPolicy")), _priority_class
    ),
    "prioritylevelconfigurations": Table(
        (NAME, *text("Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit"), AGE),
        _priority_level,
    ),
    "resourceclaims": Table((NAME, *text("State"), AGE), _resource_claim),
    "resourceclaimtemplates": _NAMED,
    "resourceslices": Table((NAME, *text("Node", "Driver", "Pool"), AGE), _resource_slice),
    "rolebindings": _ROLE_BINDINGS,
    "runtimeclasses": Table((NAME, *text("Handler"), AGE), _runtime_class),
    "servicecidrs": Table((NAME, *text("CIDRs"), AGE), _service_cidr),
    "storageclasses": Table(
        (NAME, *text("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion"), AGE), _storage_class
    ),
    "validatingadmissionpolicies": Table(
        (NAME, *integer("Validations"), *text("ParamKind"), AGE), _policy("validations")
    ),
    "validatingadmissionpolicybindings": _POLICY_BINDINGS,
    "validatingwebhookconfigurations": _WEBHOOKS,
    "volumeattachments": Table(
        (NAME, TableColumn("Attacher", format="name"), *text("PV", "Node"), *boolean("Attached"), AGE),
        _volume_attachment,
    ),
    "volumeattributesclasses": Table((NAME, *text("DriverName"), AGE), _volume_attributes_class),
}
