"""Random objects and patches, small enough that their parts meet: names, keys and values come from short lists."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

__all__ = ("KINDS", "Json", "json_value", "object_of", "strategic_patch", "widget")

Json = dict[str, Any]
Make = Callable[[Random], Any]

NAMES = ("a", "b", "c", "d")
WORDS = ("", "x", "y", "z<&>")


def word(random: Random) -> str:
    return random.choice(WORDS)


def small(random: Random) -> int:
    return random.randrange(4)


def flag(random: Random) -> bool:
    return random.random() < 0.5


def some(random: Random, fields: dict[str, Make], likely: float = 0.5) -> Json:
    """An object with some of these fields."""
    return {name: make(random) for name, make in fields.items() if random.random() < likely}


def mapping(value: Make = word) -> Make:
    return lambda random: {
        name: value(random) for name in random.sample(("k1", "k2", "app.io/k3"), random.randrange(4))
    }


def words(random: Random) -> list[str]:
    return [random.choice(NAMES) for _ in range(random.randrange(3))]


def distinct(random: Random) -> list[str]:
    return random.sample(NAMES, random.randrange(4))


def keyed(key: str, make: Make, values: tuple[Any, ...] = NAMES) -> Make:
    """A list of objects, each with another value of its key."""
    return lambda random: [
        {key: value, **make(random)} for value in random.sample(values, random.randrange(min(4, len(values) + 1)))
    ]


def anything(random: Random) -> Any:
    return json_value(random, 2)


def json_value(random: Random, depth: int) -> Any:
    """Any JSON value."""
    kind = random.randrange(10)
    if depth and kind < 3:
        return {
            random.choice(("a", "b", "c~/", "d")): json_value(random, depth - 1) for _ in range(random.randrange(4))
        }
    if depth and kind < 5:
        return [json_value(random, depth - 1) for _ in range(random.randrange(3))]
    return random.choice((None, True, False, 0, 1, 2, 1.5, "", "x", "y"))


def env(random: Random) -> Json:
    if random.random() < 0.7:
        return {"value": word(random)}
    return {"valueFrom": {"fieldRef": {"fieldPath": word(random)}}}


def port(random: Random) -> Json:
    return some(random, {"name": word, "hostPort": small})


def ports(random: Random) -> list[Json]:
    """Keyed by port and protocol in apply, by port alone in strategic merge."""
    keys = random.sample(
        [(number, protocol) for number in (80, 443) for protocol in (None, "TCP", "UDP")], small(random)
    )
    seen: dict[tuple[int, str], Json] = {}
    for number, protocol in keys:
        fields = {"containerPort": number, **({"protocol": protocol} if protocol else {}), **port(random)}
        seen[number, protocol or "TCP"] = fields
    return list(seen.values())


def resources(random: Random) -> Json:
    amounts = mapping(lambda random: random.choice(("1", "100m", "2Gi")))
    return some(random, {"limits": amounts, "requests": amounts})


def probe(random: Random) -> Json:
    return some(
        random,
        {
            "httpGet": lambda random: {"path": word(random), "port": random.choice((80, "http"))},
            "periodSeconds": small,
        },
    )


def container(random: Random) -> Json:
    return some(
        random,
        {
            "image": word,
            "args": words,
            "command": words,
            "env": keyed("name", env),
            "ports": ports,
            "resources": resources,
            "volumeMounts": keyed("mountPath", lambda random: {"name": random.choice(NAMES)}, ("/a", "/b", "/c")),
            "livenessProbe": probe,
            "securityContext": lambda random: some(
                random, {"privileged": lambda r: r.random() < 0.5, "runAsUser": small}
            ),
        },
        0.35,
    )


def volume(random: Random) -> Json:
    return random.choice(
        (
            {"emptyDir": {}},
            {"emptyDir": {"medium": "Memory"}},
            {"configMap": {"name": random.choice(NAMES)}},
            {"secret": {"secretName": random.choice(NAMES), "optional": True}},
        )
    )


def pod_spec(random: Random) -> Json:
    return some(
        random,
        {
            "containers": keyed("name", container),
            "initContainers": keyed("name", container, ("a", "b")),
            "volumes": keyed("name", volume),
            "nodeSelector": mapping(),
            "hostAliases": keyed("ip", lambda random: {"hostnames": words(random)}),
            "imagePullSecrets": keyed("name", lambda random: {}),
            "tolerations": lambda random: [{"key": random.choice(NAMES)} for _ in range(small(random))],
            "terminationGracePeriodSeconds": small,
            "serviceAccountName": word,
            "hostNetwork": flag,
            "topologySpreadConstraints": keyed(
                "topologyKey", lambda random: {"maxSkew": small(random), "whenUnsatisfiable": random.choice(NAMES)}
            ),
            "securityContext": lambda random: some(
                random, {"runAsUser": small, "supplementalGroups": lambda r: [1, 2]}
            ),
        },
        0.4,
    )


def owner(random: Random) -> Json:
    return {"apiVersion": "v1", "kind": "Node", "name": word(random), **some(random, {"controller": lambda r: True})}


def metadata(random: Random) -> Json:
    fields = {
        "labels": mapping(),
        "annotations": mapping(),
        "finalizers": distinct,
        "ownerReferences": keyed("uid", owner),
    }
    return {"name": "it", "namespace": "here", **some(random, fields, 0.4)}


def condition(random: Random) -> Json:
    return {"status": random.choice(("True", "False")), **some(random, {"reason": word, "message": word})}


def deployment(random: Random) -> Json:
    return {
        "spec": some(
            random,
            {
                "replicas": small,
                "paused": flag,
                "selector": lambda random: {"matchLabels": mapping()(random)},
                "strategy": strategy,
                "template": lambda random: {"metadata": metadata(random), "spec": pod_spec(random)},
                "minReadySeconds": small,
            },
            0.6,
        ),
        **some(
            random,
            {"status": lambda r: some(r, {"replicas": small, "conditions": keyed("type", condition)}, 0.7)},
            0.4,
        ),
    }


def strategy(random: Random) -> Json:
    if random.random() < 0.4:
        return {"type": "Recreate"}
    return {"type": "RollingUpdate", **some(random, {"rollingUpdate": rolling_update}, 0.8)}


def rolling_update(random: Random) -> Json:
    return some(random, {"maxSurge": lambda r: r.choice((1, "25%")), "maxUnavailable": lambda r: r.choice((0, "1%"))})


def pod(random: Random) -> Json:
    status = {"phase": word, "conditions": keyed("type", condition), "podIPs": keyed("ip", lambda random: {})}
    return {"spec": pod_spec(random), **some(random, {"status": lambda r: some(r, status)}, 0.4)}


def service(random: Random) -> Json:
    def service_port(random: Random) -> Json:
        return some(random, {"name": word, "targetPort": lambda r: r.choice((8080, "http")), "nodePort": small})

    return {
        "spec": some(
            random,
            {
                "ports": keyed("port", service_port, (80, 443, 8080)),
                "selector": mapping(),
                "type": word,
                "externalIPs": words,
                "ipFamilies": words,
                "clusterIP": word,
            },
            0.6,
        )
    }


KINDS: dict[tuple[str, str, str], Make] = {
    ("apps", "v1", "Deployment"): deployment,
    ("", "v1", "Pod"): pod,
    ("", "v1", "Service"): service,
}


def object_of(kind: tuple[str, str, str], random: Random) -> Json:
    """An object of a built-in kind."""
    group, version, name = kind
    api_version = f"{group}/{version}" if group else version
    return {"apiVersion": api_version, "kind": name, "metadata": metadata(random), **KINDS[kind](random)}


def widget(random: Random, *, duplicates: bool = False) -> Json:
    """An object of the custom kind, in its first version; lists may have several items of one name."""

    def unique(items: list[Any], name: Callable[[Any], Any]) -> list[Any]:
        return items if duplicates and random.random() < 0.2 else list({name(item): item for item in items}.values())

    def items(name: Callable[[Any], Any], *keys: str) -> Make:
        return lambda r: unique([widget_item(r, *keys) for _ in range(r.randrange(5))], name)

    def partly(random: Random) -> Json:
        inner = {"text": word, "unknown": lambda r: json_value(r, 1)}
        return some(random, {**inner, "inner": lambda r: some(r, inner)})

    spec: dict[str, Make] = {
        "text": word,
        "number": lambda r: r.choice((0, 1, 1.5)),
        "flag": flag,
        "time": word,
        "either": lambda r: r.choice((0, 1, "x")),
        "open": anything,
        "free": lambda r: {name: anything(r) for name in r.sample(NAMES, r.randrange(3))},
        "partly": partly,
        "labels": mapping(),
        "items": mapping(widget_item),
        "atomic": mapping(),
        "item": widget_item,
        "whole": widget_item,
        "list": words,
        "objects": lambda r: [widget_item(r) for _ in range(r.randrange(3))],
        "set": lambda r: unique(words(r) + words(r), str),
        "numbers": lambda r: unique([r.choice((1, 2, 10, 1.5)) for _ in range(r.randrange(4))], float),
        "keyed": items(lambda item: item["name"], "name"),
        "ports": items(lambda item: (item["port"], item.get("protocol", "TCP")), "port"),
        "template": lambda r: some(r, {"apiVersion": word, "kind": word, "metadata": metadata, "spec": anything}),
    }
    fields = {name: None if random.random() < 0.04 else value for name, value in some(random, spec, 0.3).items()}
    status = {"ready": flag, "conditions": keyed("type", condition_of_widget)}
    return {"metadata": metadata(random), "spec": fields, **some(random, {"status": lambda r: some(r, status)}, 0.3)}


def widget_item(random: Random, *keys: str) -> Json:
    fields: dict[str, Make] = {
        "name": lambda r: r.choice(NAMES),
        "port": lambda r: r.choice((80, 443, 8080)),
        "protocol": lambda r: r.choice(("TCP", "UDP")),
        "value": word,
        "tags": distinct,
        "more": keyed("name", lambda r: some(r, {"value": word})),
    }
    return {name: make(random) for name, make in fields.items() if name in keys or random.random() < 0.3}


def condition_of_widget(random: Random) -> Json:
    return some(random, {"status": word, "message": word})


MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "ports": "",
    "volumeMounts": "mountPath",
    "conditions": "type",
    "ownerReferences": "uid",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "topologySpreadConstraints": "topologyKey",
    "podIPs": "ip",
}


KEYS = {*MERGE_KEYS.values(), "containerPort", "port", "protocol"}


def strategic_patch(kind: tuple[str, str, str], random: Random) -> Json:
    """A patch for an object of that kind: part of another such object, nulls and directives strewn in."""
    patch = object_of(kind, random)
    del patch["apiVersion"], patch["kind"]
    directed: Json = _directed(patch, random)
    return directed


def _directed(value: Any, random: Random, field: str = "") -> Any:
    if isinstance(value, dict):
        return _directed_map({key: _directed(part, random, key) for key, part in value.items()}, random)
    if isinstance(value, list):
        parts = [_directed(part, random) for part in value]
        key = _key_of(field, parts)
        if key and random.random() < 0.15:
            parts.insert(random.randrange(len(parts) + 1), {"$patch": "delete", key: random.choice(NAMES)})
        if key and random.random() < 0.05:
            parts.insert(0, {"$patch": "replace"})
        return parts
    return None if field and field not in KEYS and random.random() < 0.05 else value


def _key_of(field: str, parts: list[Any]) -> str:
    if field != "ports":
        return MERGE_KEYS.get(field, "")
    return "containerPort" if any("containerPort" in part for part in parts) else "port"


def _directed_map(fields: Json, random: Random) -> Json:
    for name, value in list(fields.items()):
        if not isinstance(value, list) or random.random() > 0.3:
            continue
        key = _key_of(name, value)
        if key:
            order = [{key: part[key]} for part in value if key in part and "$patch" not in part]
            extra = [{key: each} for each in random.sample(NAMES, 2) if {key: each} not in order]
            fields[f"$setElementOrder/{name}"] = _shuffled_in(order, extra, random)
        elif name == "finalizers":
            fields[f"$setElementOrder/{name}"] = _shuffled_in(value, [random.choice(NAMES)], random)
    if "finalizers" in fields and random.random() < 0.3:
        # Not what the patch also adds: which of the two comes first is left to Go's random order of maps.
        added = fields["finalizers"]
        fields["$deleteFromPrimitiveList/finalizers"] = [name for name in distinct(random) if name not in added]
        if random.random() < 0.5:
            del fields["finalizers"]
    if "type" in fields and random.random() < 0.3:
        fields["$retainKeys"] = [name for name in fields if not name.startswith("$")][random.randrange(2) :]
    if random.random() < 0.02:
        fields["$patch"] = random.choice(("replace", "delete", "frobnicate"))
    return fields


def _shuffled_in(items: list[Any], extra: list[Any], random: Random) -> list[Any]:
    result = list(items)
    for item in extra:
        result.insert(random.randrange(len(result) + 1), item)
    if random.random() < 0.1:
        random.shuffle(result)
    return result
