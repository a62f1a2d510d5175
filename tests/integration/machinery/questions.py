"""Questions for both implementations, made at random, with the answers of the real one."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from tests.integration.programs import Oracle

from ...unit.machinery.apply.answers import Answer, converted
from ...unit.machinery.apply.kinds import BUILTIN, DEFINITIONS, GROUP, RENAMED, RESET
from .cases import KINDS, Json, json_value, object_of, strategic_patch, widget
from .resources import resource_of

__all__ = ("QUESTIONS", "Question", "prepare")


class Question(NamedTuple):
    op: str
    args: dict[str, Any]
    answer: Answer


Ask = Callable[[Oracle, Random], Iterator[Question]]


def prepare(oracle: Oracle) -> None:
    """Tell the oracle about the kinds, and have it make a field manager for each."""
    _done(oracle.ask({"op": "schema", "args": {"name": "all", "definitions": DEFINITIONS}}))
    for subresource, reset in RESET.items():
        common = {"schema": "all", "subresource": subresource, "reset": reset}
        for group, version, kind in BUILTIN:
            manager = {"name": f"{_name(group, version, kind)}:{subresource}", "typed": True}
            _done(
                oracle.ask(
                    {
                        "op": "manager.new",
                        "args": {**common, **manager, "group": group, "version": version, "kind": kind},
                    }
                )
            )
        for version in RENAMED:
            manager = {"name": f"Widget/{version}:{subresource}", "group": GROUP, "version": version, "kind": "Widget"}
            _done(oracle.ask({"op": "manager.new", "args": {**common, **manager, "versions": RENAMED}}))
    _done(
        oracle.ask({"op": "manager.new", "args": {"name": "Free/v1:", "group": GROUP, "version": "v1", "kind": "Free"}})
    )


def _name(group: str, version: str, kind: str) -> str:
    return f"{group}/{version} {kind}" if group else f"{version} {kind}"


def _done(answer: Answer) -> None:
    assert "error" not in answer, answer["error"]


def _question(oracle: Oracle, op: str, **args: Any) -> Question:
    args = json.loads(json.dumps(args))  # parts of arguments must not be shared: that is what we would notice
    return Question(op, args, oracle.ask({"op": op, "args": args}))


def about_json_patches(oracle: Oracle, random: Random) -> Iterator[Question]:
    document = {name: json_value(random, 3) for name in "abc"}
    operations = [_operation(random, document) for _ in range(random.randint(1, 4))]
    yield _question(oracle, "patch.json", document=document, patch=operations)


def about_merge_patches(oracle: Oracle, random: Random) -> Iterator[Question]:
    document, patch = ({name: json_value(random, 3) for name in random.sample("abcd", 3)} for _ in range(2))
    yield _question(oracle, "patch.merge", document=document, patch=patch)


def about_strategic_patches(oracle: Oracle, random: Random) -> Iterator[Question]:
    kind = group, version, name = random.choice(sorted(KINDS))
    yield _question(
        oracle,
        "patch.strategic",
        document=object_of(kind, random),
        patch=strategic_patch(kind, random),
        group=group,
        version=version,
        kind=name,
    )


def _operation(random: Random, document: Any) -> Json:
    kind = random.choice(("add", "remove", "replace", "move", "copy", "test"))
    made: Json = {"op": kind, "path": _pointer(random, document)}
    if kind in ("move", "copy"):
        made["from"] = _pointer(random, document)
    if kind in ("add", "replace", "test"):
        made["value"] = json_value(random, 2)
    return made


def _pointer(random: Random, document: Any) -> str:
    found = random.choice(_pointers(document))
    if random.random() < 0.3:
        found += "/" + random.choice(("a", "b", "-", "0", "1", "-1", "5", "x", "01", "+1", "99999999999999999999"))
    return found


def _pointers(value: Any, prefix: str = "") -> list[str]:
    found = [prefix]
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        found += _pointers(part, f"{prefix}/{str(key).replace('~', '~0').replace('/', '~1')}")
    return found


ELEMENTS = (
    *("f:a", "f:b", "f:with space", "f:é", "f:<&>", "v:1", "v:2", "v:10", 'v:"x"', 'v:"<&>"', "v:true", "v:1.5"),
    *(
        'k:{"name":"a"}',
        'k:{"name":"a!"}',
        'k:{ "b":1, "a":"x" }',
        'k:{"port":80}',
        'k:{"port":443}',
        'k:{"port":80.5}',
    ),
    *('k:{"port":"80"}', 'k:{"port":80,"protocol":"TCP"}', 'k:{"n":true}', 'k:{"name":null}', "i:0", "i:2", "i:10"),
    *(".", "x:unknown"),
)


def _tree(random: Random, depth: int) -> Json:
    names = random.sample(ELEMENTS, random.randrange(5))
    return {name: _tree(random, depth - 1) if depth else {} for name in names}


def about_sets(oracle: Oracle, random: Random) -> Iterator[Question]:
    left, right = _tree(random, 3), _tree(random, 3)
    yield _question(oracle, "set.normalize", left=left)
    yield _question(oracle, "set.paths", left=left)
    yield _question(oracle, "set.combine", left=left, right=right)


def about_types(oracle: Oracle, random: Random) -> Iterator[Question]:
    """All that can be asked about two values of one type."""
    value = widget(random, duplicates=True)
    other = _changed(random, value, widget(random, duplicates=True)) if random.random() < 0.5 else widget(random)
    kind = {"schema": "all", "type": "dev.example.v1.Widget"}
    fields = _question(oracle, "typed.fields", **kind, value=value, duplicates=True)
    yield fields
    yield _question(oracle, "typed.compare", **kind, value=value, other=other, duplicates=True)
    valid = _question(oracle, "typed.validate", **kind, value=other)
    yield valid
    if "error" not in valid.answer:
        yield _question(oracle, "typed.merge", **kind, value=value, other=other, duplicates=True)
    if "error" in fields.answer:
        return
    some = _part(random, json.loads(fields.answer["result"]))
    for op in ("remove", "extract", "named", "reconcile"):
        yield _question(oracle, f"typed.{op}", **kind, value=value, fields=some, duplicates=True)
    changed = {**kind, "type": "dev.example.changed.Widget"}
    yield _question(oracle, "typed.reconcile", **changed, value={"kind": "Widget"}, fields=some, duplicates=True)


def about_invalid_values(oracle: Oracle, random: Random) -> Iterator[Question]:
    value = widget(random)
    spoiled = random.choice(sorted(value["spec"]) or ["text"])
    value["spec"][spoiled] = json_value(random, 2)
    kind = {"schema": "all", "type": "dev.example.v1.Widget"}
    yield _question(oracle, "typed.validate", **kind, value=value)


def _part(random: Random, fields: Json) -> Json:
    return {name: _part(random, below) for name, below in fields.items() if random.random() < 0.6}


def _changed(random: Random, value: Json, by: Json) -> Json:
    """The value with a few fields taken from another, and a few dropped."""
    result = copy.deepcopy(value)
    for section in ("metadata", "spec", "status"):
        new = by.get(section)
        fields = result.setdefault(section, {}) if isinstance(new, dict) else None
        if not isinstance(new, dict) or not isinstance(fields, dict):
            continue
        fields.update({name: new[name] for name in list(new)[:2]})
        for name in list(fields):
            if random.random() < 0.1 and name not in ("name", "namespace", "uid", "managedFields"):
                del fields[name]
    return result


def about_managers_of_builtin_kinds(oracle: Oracle, random: Random) -> Iterator[Question]:
    kind = random.choice(sorted(KINDS))
    yield from _writes(oracle, random, lambda: object_of(kind, random), lambda: _name(*kind), ["", "", "status"])


def about_managers_of_all_builtin_kinds(oracle: Oracle, random: Random) -> Iterator[Question]:
    """With objects made from their schemas."""
    kind = random.choice(BUILTIN)
    yield from _writes(oracle, random, lambda: resource_of(kind, random), lambda: _name(*kind), ["", "status"])


def about_managers_of_custom_kinds(oracle: Oracle, random: Random) -> Iterator[Question]:
    yield from _writes(
        oracle, random, lambda: _resource(random), lambda: f"Widget/{random.choice(('v1', 'v1', 'v2'))}", ["", "status"]
    )


def about_managers_without_a_schema(oracle: Oracle, random: Random) -> Iterator[Question]:
    def free() -> Json:
        made = {**_resource(random), "kind": "Free"}
        return made | {name: json_value(random, 3) for name in random.sample(("spec", "data"), random.randrange(3))}

    yield from _writes(oracle, random, free, lambda: "Free/v1", [""])


def _resource(random: Random) -> Json:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", **widget(random)}


MANAGERS = ("m1", "m2", "kubectl", *(f"u{number}" for number in range(14)))
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def _writes(
    oracle: Oracle, random: Random, make: Callable[[], Json], choose: Callable[[], str], subresources: list[str]
) -> Iterator[Question]:
    """Several writes to one object, each to what the real implementation made of those before it."""
    live: Json | None = None
    steps = random.choice((4, 4, 4, 16))
    for step in range(steps):
        kind = choose()
        name = f"{kind}:{random.choice(subresources) if live else ''}"
        manager = random.choice(MANAGERS[:3] if steps < 16 else MANAGERS)
        new = _in_version(make(), kind)
        if live is not None:
            live = _in_version(live, kind)
            if random.random() < 0.5:
                new = _changed(random, live, new)
        asked = _update if random.random() < (0.4 if steps < 16 else 0.8) else _apply
        question = asked(oracle, random, name, live, new, manager)
        yield question
        if "result" in question.answer:
            live = _stored(question.answer["result"], step)


def _update(oracle: Oracle, random: Random, name: str, live: Json | None, new: Json, manager: str) -> Question:
    new = copy.deepcopy(new)
    if live is None and random.random() < 0.2:
        new["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(new)}
    if live is not None:
        new["metadata"]["uid"] = "u"
    spoiled = random.random()
    if spoiled < 0.08:
        new["metadata"]["managedFields"] = random.choice(([], [{}], [{"operation": "Update"}], None))
    if " " in name:
        new = oracle.ask({"op": "manager.roundtrip", "args": {"name": name, "new": new}})["result"]
    return _question(oracle, "manager.update", name=name, live=live, new=new, manager=manager)


def _apply(oracle: Oracle, random: Random, name: str, live: Json | None, new: Json, manager: str) -> Question:
    metadata = {key: value for key, value in new["metadata"].items() if key not in ("managedFields", "uid")}
    force = random.random() < 0.5
    new = {**new, "metadata": metadata}
    if random.random() < 0.02:
        new = random.choice(({**new, "kind": "Other"}, {**new, "metadata": {"managedFields": []}}, {**new, "x": 1}))
    return _question(oracle, "manager.apply", name=name, live=live, new=new, manager=manager, force=force)


def about_moving_from_client_side_apply(oracle: Oracle, random: Random) -> Iterator[Question]:
    """kubectl applied on the client first, and on the server then."""
    kind = random.choice(sorted(KINDS))
    name = f"{_name(*kind)}:"
    applied = object_of(kind, random)
    first = copy.deepcopy(applied)
    first["metadata"].setdefault("annotations", {})[LAST_APPLIED] = json.dumps(applied)
    created = _update(oracle, random, name, None, first, "kubectl-client-side-apply")
    yield created
    live = _stored(created.answer["result"], 0)
    if random.random() < 0.5:
        changed = _update(oracle, random, name, live, _changed(random, live, object_of(kind, random)), "somebody")
        yield changed
        live = _stored(changed.answer["result"], 1)
    again = _changed(random, applied, object_of(kind, random))
    yield _apply(oracle, random, name, live, again, "kubectl")


def about_scale(oracle: Oracle, random: Random) -> Iterator[Question]:
    replicas = {"apps/v1": ["spec", "replicas"], "apps/v2": ["spec", "size"], "apps/v3": None}
    entries = _entries(random, ["apps/v1", "apps/v2", "apps/v3", "apps/v4"])
    yield _question(oracle, "scale.sub", entries=entries, mappings=replicas)
    yield _question(
        oracle,
        "scale.parent",
        entries=entries,
        scale=_entries(random, ["autoscaling/v1"]),
        groupVersion={"Group": "apps", "Version": "v1"},
        mappings=replicas,
    )


def _entries(random: Random, versions: list[str]) -> list[Json]:
    entries: dict[tuple[str, ...], Json] = {}
    for _ in range(random.randrange(5)):
        who = random.choice("abc"), random.choice(("Apply", "Update")), random.choice(("", "scale"))
        entry: Json = dict(zip(("manager", "operation", "subresource"), who, strict=True))
        entry["apiVersion"] = random.choice(versions)
        names = random.sample(("replicas", "size", "other"), random.randint(1, 2))
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {f"f:{name}": {} for name in names}}}
        if random.random() < 0.8:
            entry["time"] = f"2020-01-01T00:00:{len(entries):02d}Z"
        entries[who] = {key: value for key, value in entry.items() if value}
    return list(entries.values())


def about_timestamps(oracle: Oracle, random: Random) -> Iterator[Question]:
    """Writes that change nothing but times, and writes that change a little more."""
    name = "Widget/v1:"
    made: Json = _update(oracle, random, name, None, _resource(random), "m1").answer["result"]
    live = _stored(_apply(oracle, random, name, _stored(made, 0), made, "m2").answer.get("result", made), 1)
    new = copy.deepcopy(live)
    for entry in new["metadata"].get("managedFields") or ():
        if random.random() < 0.5:
            entry["time"] = "2020-02-02T00:00:00Z"
    if random.random() < 0.4:
        new["metadata"]["labels"] = {"a": random.choice("xy")}
    if random.random() < 0.2:
        new["metadata"]["managedFields"] = new["metadata"].get("managedFields", [])[1:]
    yield _question(oracle, "manager.timestamps", name=name, live=live, new=new)


def _in_version(obj: Json, kind: str) -> Json:
    version = f"{GROUP}/{kind.partition('/')[2]}"
    return converted(obj, version) if kind.startswith("Widget") and obj["apiVersion"] != version else obj


def _stored(obj: Json, step: int) -> Json:
    """The object as the next write finds it, with times of our own making."""
    stored = copy.deepcopy(obj)
    stored.setdefault("metadata", {})["uid"] = "u"
    for entry in stored["metadata"].get("managedFields") or ():
        if entry.get("time", "2020") > "2021":
            entry["time"] = f"2020-01-01T00:00:{step:02d}Z"
    return stored


QUESTIONS: dict[str, Ask] = {
    name.removeprefix("about_"): ask for name, ask in globals().items() if name.startswith("about_")
}
