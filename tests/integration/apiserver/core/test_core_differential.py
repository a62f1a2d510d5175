"""Every verb of the API, used well and badly: the embedded server answers as the real one does.

A step that is known to be answered differently is listed with its reason, and must still differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.apiserver.core.conftest import Both

pytestmark = pytest.mark.real

Object = dict[str, Any]
Script = list[tuple[Any, ...]]

CONFIG_MAPS = "/api/v1/namespaces/$NS/configmaps"
WIDGETS = "/apis/$GROUP/v1/namespaces/$NS/widgets"
OLD_WIDGETS = "/apis/$GROUP/v1beta1/namespaces/$NS/widgets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

MERGE = {"Content-Type": "application/merge-patch+json"}
JSON = {"Content-Type": "application/json-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
METADATA = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
METADATA_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}

NAMESPACE = ("namespace", "POST", "/api/v1/namespaces", {"metadata": {"name": "$NS"}})


def config_map(name: str = "a", **content: Any) -> Object:
    metadata = {"name": name, **content.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}, **content}


def widget(name: str = "a", **content: Any) -> Object:
    metadata = {"name": name, **content.pop("metadata", {})}
    return {"apiVersion": "$GROUP/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": 1}, **content}


SCHEMA = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "colour": {"type": "string", "default": "red", "enum": ["red", "blue"]},
                "replicas": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "phase": {"type": "string"},
                "selector": {"type": "string"},
            },
        },
    },
}


def definition(**changes: Any) -> Object:
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
        "subresources": {"status": {}, "scale": scale},
        "selectableFields": [{"jsonPath": ".spec.colour"}],
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Tags", "type": "string", "jsonPath": ".spec.tags"},
        ],
    }
    old = {**version, "name": "v1beta1", "storage": False, "deprecated": True, "additionalPrinterColumns": []}
    spec = {
        "group": "$GROUP",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [version, old],
        **changes,
    }
    document = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    return {**document, "metadata": {"name": "widgets.$GROUP"}}


def one_version(**changes: Any) -> list[Object]:
    return [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}, **changes}
    ]


CREATING: Script = [
    NAMESPACE,
    ("create", "POST", CONFIG_MAPS, config_map()),
    ("again", "POST", CONFIG_MAPS, config_map()),
    ("bad name", "POST", CONFIG_MAPS, config_map("A_b")),
    ("no name", "POST", CONFIG_MAPS, {"data": {}}),
    ("bad labels", "POST", CONFIG_MAPS, config_map("b", metadata={"labels": {"-": "x"}})),
    ("bad label value", "POST", CONFIG_MAPS, config_map("b", metadata={"labels": {"ok": "!!"}})),
    ("bad annotation", "POST", CONFIG_MAPS, config_map("b", metadata={"annotations": {"a b": "x"}})),
    ("other namespace", "POST", CONFIG_MAPS, config_map("b", metadata={"namespace": "other"})),
    ("other kind", "POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}),
    ("other version", "POST", CONFIG_MAPS, {"apiVersion": "apps/v1", "kind": "ConfigMap", "metadata": {"name": "b"}}),
    ("unknown kind", "POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "b"}}),
    ("with a version", "POST", CONFIG_MAPS, config_map("b", metadata={"resourceVersion": "1"})),
    ("no body", "POST", CONFIG_MAPS, ""),
    ("half a body", "POST", CONFIG_MAPS, "{"),
    ("null", "POST", CONFIG_MAPS, "null"),
    ("a list", "POST", CONFIG_MAPS, "[]"),
    ("wrong type", "POST", CONFIG_MAPS, config_map("b", data="x")),
    ("wrong type in metadata", "POST", CONFIG_MAPS, config_map("b", metadata={"labels": {"a": 1}})),
    ("unknown field", "POST", f"{CONFIG_MAPS}?dryRun=All", config_map("b", foo=1)),
    (
        "unknown fields, strictly",
        "POST",
        f"{CONFIG_MAPS}?fieldValidation=Strict",
        config_map("b", foo=1, metadata={"bar": 2}),
    ),
    ("unknown field, ignored", "POST", f"{CONFIG_MAPS}?dryRun=All&fieldValidation=Ignore", config_map("b", foo=1)),
    (
        "duplicate field, strictly",
        "POST",
        f"{CONFIG_MAPS}?fieldValidation=Strict",
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"a":"1","a":"2"}}',
    ),
    (
        "duplicate field",
        "POST",
        f"{CONFIG_MAPS}?dryRun=All",
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"a":"1","a":"2"}}',
    ),
    (
        "duplicate object",
        "POST",
        f"{CONFIG_MAPS}?dryRun=All",
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"a":"1"},"data":{"b":"2"}}',
    ),
    (
        "unknown fields before and after duplicate ones, strictly",
        "POST",
        f"{CONFIG_MAPS}?fieldValidation=Strict",
        '{"foo":1,"metadata":{"name":"b","name":"b","x":1},"data":{"a":"1"},"data":{"b":"2","b":"3"},"bar":2,"foo":3}',
    ),
    (
        "duplicate fields below unknown ones",
        "POST",
        f"{CONFIG_MAPS}?dryRun=All",
        '{"foo":{"a":1,"a":2},"bar":[{"a":1,"a":2}],"metadata":{"name":"b","x":{"a":1,"a":2}},"data":{"a":"1","a":"2"}}',
    ),
    *(
        (f"timeout {text}", "POST", f"{CONFIG_MAPS}?dryRun=All&timeout={text}", config_map("b"))
        for text in ("x", "5", "5x", "1m5y", "-", "1..2s", "0", "-1s", "1m30s", "10h")
    ),
    ("timeout of a watch", "GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&timeout=x"),
    ("timeout of a path", "GET", "/version/nothing?timeout=x"),
    ("bad dryRun", "POST", f"{CONFIG_MAPS}?dryRun=x", config_map("b")),
    ("bad fieldValidation", "POST", f"{CONFIG_MAPS}?fieldValidation=x", config_map("b")),
    ("long manager", "POST", f"{CONFIG_MAPS}?fieldManager={'x' * 130}", config_map("b")),
    ("odd manager", "POST", f"{CONFIG_MAPS}?fieldManager=a%0Ab", config_map("b")),
    ("CBOR", "POST", CONFIG_MAPS, "x", {"Content-Type": "application/cbor"}),
    ("text", "POST", CONFIG_MAPS, "x", {"Content-Type": "text/plain"}),
    (
        "YAML",
        "POST",
        f"{CONFIG_MAPS}?dryRun=All",
        "metadata: {name: z}\ndata: {a: '1'}",
        {"Content-Type": "application/yaml"},
    ),
    ("YAML truth", "POST", CONFIG_MAPS, "metadata: {name: y}", {"Content-Type": "application/yaml"}),
    ("unqualified finalizer", "POST", CONFIG_MAPS, config_map("b", metadata={"finalizers": ["foo"]})),
    ("on an object", "POST", f"{CONFIG_MAPS}/a", config_map()),
    ("across namespaces", "POST", "/api/v1/configmaps", config_map()),
]

UPDATING: Script = [
    NAMESPACE,
    ("create", "POST", CONFIG_MAPS, config_map()),
    ("put", "PUT", f"{CONFIG_MAPS}/a", config_map(data={"b": "2"})),
    ("put the same", "PUT", f"{CONFIG_MAPS}/a", config_map(data={"b": "2"})),
    ("put an old version", "PUT", f"{CONFIG_MAPS}/a", config_map(metadata={"resourceVersion": "1"})),
    ("put no version", "PUT", f"{CONFIG_MAPS}/a", config_map(metadata={"resourceVersion": "abc"})),
    ("put another uid", "PUT", f"{CONFIG_MAPS}/a", config_map(metadata={"uid": "x"})),
    ("put another name", "PUT", f"{CONFIG_MAPS}/a", config_map("z")),
    ("put without name", "PUT", f"{CONFIG_MAPS}/a", {"data": {}}),
    ("put another namespace", "PUT", f"{CONFIG_MAPS}/a", config_map(metadata={"namespace": "z"})),
    ("put what is missing", "PUT", f"{CONFIG_MAPS}/z", config_map("z")),
    (
        "put system fields",
        "PUT",
        f"{CONFIG_MAPS}/a",
        config_map(metadata={"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7}),
    ),
    ("merge", "PATCH", f"{CONFIG_MAPS}/a", {"data": {"c": "3"}}, MERGE),
    ("merge null", "PATCH", f"{CONFIG_MAPS}/a", {"data": {"c": None}}, MERGE),
    ("merge unknown", "PATCH", f"{CONFIG_MAPS}/a", {"foo": 1}, MERGE),
    ("merge unknown, strictly", "PATCH", f"{CONFIG_MAPS}/a?fieldValidation=Strict", {"foo": 1}, MERGE),
    ("merge half", "PATCH", f"{CONFIG_MAPS}/a", "{", MERGE),
    ("merge a list", "PATCH", f"{CONFIG_MAPS}/a", "[]", MERGE),
    ("merge a name", "PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"name": "z"}}, MERGE),
    ("merge an old version", "PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": "1"}}, MERGE),
    ("merge into nothing", "PATCH", f"{CONFIG_MAPS}/z", {"data": {}}, MERGE),
    ("merge with force", "PATCH", f"{CONFIG_MAPS}/a?force=true", {}, MERGE),
    ("JSON patch", "PATCH", f"{CONFIG_MAPS}/a", [{"op": "add", "path": "/data/z", "value": "1"}], JSON),
    ("JSON patch no list", "PATCH", f"{CONFIG_MAPS}/a", {}, JSON),
    ("JSON patch missing", "PATCH", f"{CONFIG_MAPS}/a", [{"op": "remove", "path": "/nope"}], JSON),
    ("strategic", "PATCH", f"{CONFIG_MAPS}/a", {"data": {"s": "1"}, "metadata": {"labels": {"x": "y"}}}, STRATEGIC),
    ("strategic of a wrong type", "PATCH", f"{CONFIG_MAPS}/a", {"data": "x"}, STRATEGIC),
    ("patch as JSON", "PATCH", f"{CONFIG_MAPS}/a", "{}", {"Content-Type": "application/json"}),
    ("put a collection", "PUT", CONFIG_MAPS, config_map()),
    ("patch a collection", "PATCH", CONFIG_MAPS, "{}", MERGE),
]

APPLYING: Script = [
    NAMESPACE,
    ("no manager", "PATCH", f"{CONFIG_MAPS}/b", config_map("b"), APPLY),
    ("create", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=one", config_map("b"), APPLY),
    ("again", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=one", config_map("b"), APPLY),
    ("another", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=two", config_map("b", data={"b": "2"}), APPLY),
    ("conflict", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=two", config_map("b", data={"a": "9"}), APPLY),
    ("force", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=two&force=true", config_map("b", data={"a": "9"}), APPLY),
    (
        "managed fields",
        "PATCH",
        f"{CONFIG_MAPS}/b?fieldManager=two",
        config_map("b", metadata={"managedFields": []}),
        APPLY,
    ),
    ("no kind", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=two", {"metadata": {"name": "b"}}, APPLY),
    ("another name", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=two", config_map("c"), APPLY),
    ("unknown field", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=two", config_map("b", foo=1), APPLY),
    ("wrong type", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=two", config_map("b", data="x"), APPLY),
    ("bad YAML", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=two", "a: [", APPLY),
    (
        "duplicate key",
        "PATCH",
        f"{CONFIG_MAPS}/b?fieldManager=two&fieldValidation=Strict&force=true",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  a: '1'\n  a: '2'\n",
        APPLY,
    ),
    ("uid of nothing", "PATCH", f"{CONFIG_MAPS}/new?fieldManager=two", config_map("new", metadata={"uid": "x"}), APPLY),
    ("drop", "PATCH", f"{CONFIG_MAPS}/b?fieldManager=one", config_map("b", data={}), APPLY),
]

DELETING: Script = [
    NAMESPACE,
    ("create", "POST", CONFIG_MAPS, config_map("f", metadata={"finalizers": ["example.com/x"]})),
    ("delete", "DELETE", f"{CONFIG_MAPS}/f"),
    ("delete again", "DELETE", f"{CONFIG_MAPS}/f"),
    ("create again", "POST", CONFIG_MAPS, config_map("f")),
    ("add a finalizer", "PATCH", f"{CONFIG_MAPS}/f", {"metadata": {"finalizers": ["a.b/x", "a.b/y"]}}, MERGE),
    ("take it back", "PATCH", f"{CONFIG_MAPS}/f", {"metadata": {"deletionTimestamp": None}}, MERGE),
    ("last finalizer", "PATCH", f"{CONFIG_MAPS}/f", {"metadata": {"finalizers": None}}, MERGE),
    ("gone", "GET", f"{CONFIG_MAPS}/f"),
    ("create a", "POST", CONFIG_MAPS, config_map("a")),
    ("another uid", "DELETE", f"{CONFIG_MAPS}/a", {"preconditions": {"uid": "x"}}),
    ("another version", "DELETE", f"{CONFIG_MAPS}/a", {"preconditions": {"resourceVersion": "1"}}),
    ("bad policy", "DELETE", f"{CONFIG_MAPS}/a", {"propagationPolicy": "X"}),
    ("both policies", "DELETE", f"{CONFIG_MAPS}/a", {"propagationPolicy": "Orphan", "orphanDependents": True}),
    ("a Pod", "DELETE", f"{CONFIG_MAPS}/a", {"kind": "Pod", "apiVersion": "v1"}),
    ("wrong type", "DELETE", f"{CONFIG_MAPS}/a", {"gracePeriodSeconds": "x"}),
    ("half a body", "DELETE", f"{CONFIG_MAPS}/a", "{"),
    ("rehearse", "DELETE", f"{CONFIG_MAPS}/a?dryRun=All"),
    ("foreground", "DELETE", f"{CONFIG_MAPS}/a?propagationPolicy=Foreground"),
    ("still there", "GET", f"{CONFIG_MAPS}/a"),
    ("what is missing", "DELETE", f"{CONFIG_MAPS}/z"),
    ("nothing", "DELETE", f"{CONFIG_MAPS}?labelSelector=nope%3Dx"),
]

READING: Script = [
    NAMESPACE,
    ("create", "POST", CONFIG_MAPS, config_map(metadata={"labels": {"l": "x"}})),
    ("create b", "POST", CONFIG_MAPS, config_map("b", metadata={"labels": {"l": "y"}})),
    ("get", "GET", f"{CONFIG_MAPS}/a"),
    ("missing", "GET", f"{CONFIG_MAPS}/z"),
    ("by label", "GET", f"{CONFIG_MAPS}?labelSelector=l%3Dx"),
    ("by no label", "GET", f"{CONFIG_MAPS}?labelSelector=l%20notin%20(x,y)"),
    ("page", "GET", f"{CONFIG_MAPS}?limit=1&labelSelector=l"),
    ("next page", "GET", f"{CONFIG_MAPS}?limit=1&labelSelector=l&continue=$TOKEN"),
    ("table", "GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Da", None, TABLE),
    ("table of one", "GET", f"{CONFIG_MAPS}/a", None, TABLE),
    ("table without objects", "GET", f"{CONFIG_MAPS}/a?includeObject=None", None, TABLE),
    ("table of what", "GET", f"{CONFIG_MAPS}/a?includeObject=X", None, TABLE),
    ("metadata", "GET", f"{CONFIG_MAPS}/a", None, METADATA),
    ("metadata list", "GET", f"{CONFIG_MAPS}?labelSelector=l", None, METADATA_LIST),
    ("metadata of a list", "GET", CONFIG_MAPS, None, METADATA),
    ("metadata list of one", "GET", f"{CONFIG_MAPS}/a", None, METADATA_LIST),
    ("HTML", "GET", f"{CONFIG_MAPS}/a", None, {"Accept": "text/html"}),
    ("bad selector", "GET", f"{CONFIG_MAPS}?labelSelector=a%20in%20b"),
    ("unknown field", "GET", f"{CONFIG_MAPS}?fieldSelector=foo%3Dbar"),
    ("no selector", "GET", f"{CONFIG_MAPS}?fieldSelector=foo"),
    ("unknown field of pods", "GET", "/api/v1/pods?fieldSelector=foo%3Dbar"),
    ("bad limit", "GET", f"{CONFIG_MAPS}?limit=x"),
    ("bad token", "GET", f"{CONFIG_MAPS}?continue=e30"),
    ("no token", "GET", f"{CONFIG_MAPS}?continue=xx"),
    ("bad version", "GET", f"{CONFIG_MAPS}?resourceVersion=abc"),
    ("match alone", "GET", f"{CONFIG_MAPS}?resourceVersionMatch=Exact"),
    ("bad match", "GET", f"{CONFIG_MAPS}?resourceVersion=1&resourceVersionMatch=Foo"),
    ("exactly zero", "GET", f"{CONFIG_MAPS}?resourceVersion=0&resourceVersionMatch=Exact"),
    ("initial events of a list", "GET", f"{CONFIG_MAPS}?sendInitialEvents=true"),
    ("watch without match", "GET", f"{CONFIG_MAPS}?watch=1&sendInitialEvents=true"),
    ("watch with match alone", "GET", f"{CONFIG_MAPS}?watch=1&resourceVersionMatch=NotOlderThan"),
    ("watch a bad version", "GET", f"{CONFIG_MAPS}?watch=1&resourceVersion=abc"),
    ("get a bad version", "GET", "/api/v1/namespaces/$NS?resourceVersion=abc"),
    ("unknown resource", "GET", "/api/v1/namespaces/$NS/foos"),
    ("unknown group", "GET", "/apis/foo.bar/v1/foos"),
    ("unknown version", "GET", "/apis/apps/v9/deployments"),
    ("unknown subresource", "GET", f"{CONFIG_MAPS}/a/foo"),
    ("nodes in a namespace", "GET", "/api/v1/namespaces/$NS/nodes"),
    ("unknown path", "GET", "/foo"),
    ("odd method", "OPTIONS", CONFIG_MAPS),
    ("version by POST", "POST", "/version", {}),
]

DEFINING: Script = [
    ("scope", "POST", DEFINITIONS, definition(scope="X")),
    ("no versions", "POST", DEFINITIONS, definition(versions=[])),
    ("names", "POST", DEFINITIONS, definition(names={"plural": "Widgets", "kind": "widget_x", "shortNames": ["B"]})),
    ("no kind", "POST", DEFINITIONS, definition(names={"plural": "widgets"})),
    ("no schema", "POST", DEFINITIONS, definition(versions=one_version(schema=None))),
    (
        "columns",
        "POST",
        DEFINITIONS,
        definition(versions=one_version(additionalPrinterColumns=[{"name": "", "type": "x", "jsonPath": "spec"}])),
    ),
    ("two stored versions", "POST", DEFINITIONS, definition(versions=one_version() + one_version())),
    ("webhook", "POST", DEFINITIONS, definition(conversion={"strategy": "Webhook"})),
    (
        "not structural",
        "POST",
        DEFINITIONS,
        definition(versions=one_version(schema={"openAPIV3Schema": {"properties": {"a": {}}}})),
    ),
    ("create", "POST", DEFINITIONS, definition()),
    ("wait", "WAIT", "/apis/$GROUP/v1/widgets"),
    ("wait for the group", "WAIT", "/apis/$GROUP"),
    ("wait for its resources", "WAIT", "/apis/$GROUP/v1"),
    ("get", "GET", f"{DEFINITIONS}/widgets.$GROUP"),
    ("table", "GET", f"{DEFINITIONS}/widgets.$GROUP", None, TABLE),
    ("group", "GET", "/apis/$GROUP"),
    ("resources", "GET", "/apis/$GROUP/v1"),
    ("change the scope", "PATCH", f"{DEFINITIONS}/widgets.$GROUP", {"spec": {"scope": "Cluster"}}, MERGE),
    ("change the group", "PATCH", f"{DEFINITIONS}/widgets.$GROUP", {"spec": {"group": "x.y"}}, MERGE),
    ("delete", "DELETE", f"{DEFINITIONS}/widgets.$GROUP"),
]

CUSTOM: Script = [
    NAMESPACE,
    ("define", "POST", DEFINITIONS, definition()),
    ("wait", "WAIT", "/apis/$GROUP/v1/widgets"),
    ("empty list", "GET", WIDGETS),
    ("create", "POST", WIDGETS, widget()),
    ("get", "GET", f"{WIDGETS}/a"),
    ("get the old version", "GET", f"{OLD_WIDGETS}/a"),
    ("list the old version", "GET", OLD_WIDGETS),
    ("table", "GET", WIDGETS, None, TABLE),
    ("metadata", "GET", f"{WIDGETS}/a", None, METADATA),
    ("metadata list", "GET", WIDGETS, None, METADATA_LIST),
    ("metadata of a list", "GET", WIDGETS, None, METADATA),
    ("HTML", "GET", WIDGETS, None, {"Accept": "text/html"}),
    ("other kind", "POST", WIDGETS, {**widget("b"), "kind": "Foo"}),
    ("no kind", "POST", WIDGETS, {"metadata": {"name": "b"}, "spec": {"size": 1}}),
    ("other version", "POST", WIDGETS, {**widget("b"), "apiVersion": "$GROUP/v1beta1"}),
    ("invalid", "POST", WIDGETS, widget("b", spec={"size": 0})),
    ("wrong type", "POST", WIDGETS, widget("b", spec={"size": "x"})),
    ("nothing in it", "POST", WIDGETS, {"apiVersion": "$GROUP/v1", "kind": "Widget", "metadata": {"name": "b"}}),
    (
        "unknown, strictly",
        "POST",
        f"{WIDGETS}?fieldValidation=Strict",
        widget("b", spec={"size": 1, "x": 1}, foo=2, metadata={"bar": 1}),
    ),
    ("unknown", "POST", f"{WIDGETS}?dryRun=All", widget("b", spec={"size": 1, "x": 1}, foo=2)),
    ("metadata types", "POST", WIDGETS, widget("b", metadata={"labels": {"a": 1}})),
    ("bad name", "POST", WIDGETS, widget("B_")),
    ("finalizers", "POST", f"{WIDGETS}?dryRun=All", widget("b", metadata={"finalizers": ["foo", "a.b", "x/y"]})),
    ("status ignored", "POST", f"{WIDGETS}?dryRun=All", widget("b", status={"phase": "x"})),
    ("put without version", "PUT", f"{WIDGETS}/a", widget()),
    ("put an old version", "PUT", f"{WIDGETS}/a", widget(metadata={"resourceVersion": "1"})),
    ("merge", "PATCH", f"{WIDGETS}/a", {"spec": {"size": 3}}, MERGE),
    ("put", "PUT", f"{WIDGETS}/a", widget(metadata={"resourceVersion": "$RV"}, spec={"size": 2})),
    ("merge invalid", "PATCH", f"{WIDGETS}/a", {"spec": {"size": 0}}, MERGE),
    ("merge labels", "PATCH", f"{WIDGETS}/a", {"metadata": {"labels": {"a": "b"}}}, MERGE),
    ("merge bad labels", "PATCH", f"{WIDGETS}/a", {"metadata": {"labels": {"a": "b b"}}}, MERGE),
    ("merge a kind", "PATCH", f"{WIDGETS}/a", {"kind": "Foo"}, MERGE),
    ("strategic", "PATCH", f"{WIDGETS}/a", {"spec": {"size": 3}}, STRATEGIC),
    ("JSON patch", "PATCH", f"{WIDGETS}/a", [{"op": "replace", "path": "/spec/size", "value": 4}], JSON),
    (
        "status",
        "PATCH",
        f"{WIDGETS}/a/status",
        {"status": {"phase": "x", "replicas": 1, "selector": "a=b"}, "spec": {"size": 9}},
        MERGE,
    ),
    ("bad status", "PATCH", f"{WIDGETS}/a/status", {"status": {"phase": 1}}, MERGE),
    ("get status", "GET", f"{WIDGETS}/a/status"),
    ("no scale yet", "GET", f"{WIDGETS}/a/scale"),
    ("scale", "PATCH", f"{WIDGETS}/a/scale", {"spec": {"replicas": 3}}, MERGE),
    ("get scale", "GET", f"{WIDGETS}/a/scale"),
    ("negative scale", "PATCH", f"{WIDGETS}/a/scale", {"spec": {"replicas": -3}}, MERGE),
    ("scaled", "GET", f"{WIDGETS}/a"),
    ("select", "GET", f"{WIDGETS}?fieldSelector=spec.colour%3Dred"),
    ("select what is not declared", "GET", f"{WIDGETS}?fieldSelector=spec.size%3D1"),
    ("apply", "PATCH", f"{WIDGETS}/b?fieldManager=m1", widget("b", spec={"size": 1, "tags": ["a"]}), APPLY),
    ("apply to a set", "PATCH", f"{WIDGETS}/b?fieldManager=m2", widget("b", spec={"size": 1, "tags": ["b"]}), APPLY),
    ("conflict", "PATCH", f"{WIDGETS}/b?fieldManager=m2", widget("b", spec={"size": 2, "tags": ["b"]}), APPLY),
    ("apply unknown", "PATCH", f"{WIDGETS}/b?fieldManager=m2", widget("b", spec={"size": 1, "z": 1}), APPLY),
    ("apply invalid", "PATCH", f"{WIDGETS}/b?fieldManager=m2&force=true", widget("b", spec={"size": 0}), APPLY),
    (
        "apply status",
        "PATCH",
        f"{WIDGETS}/b/status?fieldManager=m2",
        {"apiVersion": "$GROUP/v1", "kind": "Widget", "metadata": {"name": "b"}, "status": {"phase": "q"}},
        APPLY,
    ),
    ("delete", "DELETE", f"{WIDGETS}/a"),
    ("unknown resource", "GET", "/apis/$GROUP/v1/namespaces/$NS/foos"),
    ("unknown version", "GET", "/apis/$GROUP/v9/namespaces/$NS/widgets"),
    ("unknown subresource", "GET", f"{WIDGETS}/b/foo"),
    ("undefine", "DELETE", f"{DEFINITIONS}/widgets.$GROUP"),
]

_TOO_LARGE = {"size": 1, "tags": ["x" * 1_580_000]}
# Each element of a set has an entry in managedFields: with them, the object is too large.
_LARGE_WITH_MANAGERS = {"size": 1, "tags": [f"{number:03d}" + "x" * 10_000 for number in range(90)]}
_SOMEBODY = {"subjects": [{"kind": "User", "name": "x" * 1_580_000, "apiGroup": "rbac.authorization.k8s.io"}]}

LARGE: Script = [
    NAMESPACE,
    ("define", "POST", DEFINITIONS, definition()),
    ("create too large", "POST", WIDGETS, widget(spec=_TOO_LARGE)),
    ("rehearse too large", "POST", f"{WIDGETS}?dryRun=All", widget(spec=_TOO_LARGE)),
    ("create", "POST", WIDGETS, widget()),
    ("put too large", "PUT", f"{WIDGETS}/a", widget(metadata={"resourceVersion": "$RV"}, spec=_TOO_LARGE)),
    ("merge too large", "PATCH", f"{WIDGETS}/a", {"spec": _TOO_LARGE}, MERGE),
    ("unchanged", "GET", f"{WIDGETS}/a"),
    ("create with managers", "POST", WIDGETS, widget("b", spec=_LARGE_WITH_MANAGERS)),
    ("merge with managers", "PATCH", f"{WIDGETS}/a", {"spec": _LARGE_WITH_MANAGERS}, MERGE),
    ("merge again", "PATCH", f"{WIDGETS}/a", {"spec": {"size": 2}}, MERGE),
    ("apply with managers", "PATCH", f"{WIDGETS}/c?fieldManager=m", widget("c", spec=_LARGE_WITH_MANAGERS), APPLY),
    ("put with managers", "PUT", f"{WIDGETS}/b", widget("b", metadata={"resourceVersion": "0"}, spec={"size": 1})),
    ("delete what is large", "DELETE", f"{WIDGETS}/a"),
    ("a built-in kind is stored in fewer bytes", "POST", CONFIG_MAPS, config_map(data={"a": "\n" * 1_000_000})),
    (
        "a built-in kind too large",
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/rolebindings",
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "a"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
            **_SOMEBODY,
        },
    ),
    ("undefine", "DELETE", f"{DEFINITIONS}/widgets.$GROUP"),
]

_GO_ORDER = "a refused patch is shown as JSON, whose fields Go orders in its own way"
_GO_PARSER = "the words of Go's JSON parser"
KNOWN: dict[tuple[str, str], str] = {
    ("creating", "a list"): "the end of the message shows the body in hexadecimal digits",
    (
        "creating",
        "duplicate object",
    ): "Go reads the second object into the first, JSON's own rule is that the last wins",
    ("updating", "merge unknown, strictly"): _GO_ORDER,
    ("reading", "no token"): _GO_PARSER,
    ("defining", "two stored versions"): "the message shows Go's internal structs",
    ("custom", "no kind"): "the message shows the body as it was sent, spaces included",
}


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("creating", CREATING),
        ("updating", UPDATING),
        ("applying", APPLYING),
        ("deleting", DELETING),
        ("reading", READING),
        ("defining", DEFINING),
        ("custom", CUSTOM),
        ("large", LARGE),
    ],
)
async def test_both_servers_answer_alike(both: Both, name: str, script: Script) -> None:
    found = await both.differences(both.step(*step) for step in script)
    known = {step for where, step in KNOWN if where == name}
    unexplained = [answers for step, answers in found.items() if step not in known]
    assert not unexplained, "\n".join(unexplained)
    assert known <= found.keys(), f"no longer different: {known - found.keys()}"
