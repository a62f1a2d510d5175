"""Our replies to the questions that the oracle answers, in the same form, so that the two can be compared."""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Callable
from typing import Any

from kapstan.apiserver.schema import formats
from kapstan.apiserver.schema.cel import types, values
from kapstan.apiserver.schema.cel.environment import Environment
from kapstan.apiserver.schema.cel.estimate import Estimator
from kapstan.apiserver.schema.cel.evaluate import InstantiationError
from kapstan.apiserver.schema.cel.library.kubernetes import QuantityValue
from kapstan.apiserver.schema.cel.source import CompileError
from kapstan.apiserver.schema.coerce import InvalidMetadata
from kapstan.apiserver.schema.custom import CustomResourceSchema
from kapstan.apiserver.schema.objectmeta import validate_object_meta, validate_object_meta_update
from kapstan.apiserver.schema.regexp import InvalidRegexp, compile_regexp
from kapstan.apiserver.schema.structural import validate_schemas
from kapstan.machinery import fields, labels, names
from kapstan.machinery.golang import format_float, quote, to_json
from kapstan.machinery.validation import FieldError

__all__ = ("comparable", "reply")

Question = dict[str, Any]
Answer = dict[str, Any]


def reply(question: Question) -> Answer:
    """What we make of a question, in comparable form."""
    return comparable(_HANDLERS[question["op"]](question))


def comparable(answer: Answer) -> Answer:
    """An answer without what does not matter: the order of errors, null for an empty list, the size of numbers."""
    answer = {key: _normal(value) for key, value in answer.items() if key != "cost"}
    if "errors" in answer:
        answer["errors"] = sorted(answer["errors"], key=lambda error: sorted(error.items()))
    return answer


def _normal(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(r"selfType\d+", "selfType0", value)  # a number that is different every time
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normal(item) for item in value]
    return float(value) if type(value) is int and not -(2**63) <= value < 2**63 else value


def _errors(errors: list[FieldError]) -> list[dict[str, str]]:
    return [{"type": str(error.type), "field": error.field, "message": error.body} for error in errors]


def _resource(question: Question) -> Answer:
    schema = CustomResourceSchema(question["schema"])
    obj, old = copy.deepcopy(question["object"]), question.get("old")
    try:
        unknown = schema.prune(obj)
    except InvalidMetadata as error:
        return {"coercion": str(error)}
    answer: Answer = {"unknown": unknown, "pruned": copy.deepcopy(obj)}
    schema.default(obj)
    answer["defaulted"] = copy.deepcopy(obj)
    metadata = obj.get("metadata") or {}
    if old is None:
        errors = validate_object_meta(metadata, namespaced=True) + schema.validate(obj)
    else:
        errors = validate_object_meta_update(metadata, old.get("metadata") or {})
        errors += schema.validate_status(obj, old) if question.get("status") else schema.validate(obj, old)
    return {**answer, "errors": _errors(errors)}


def _definition(question: Question) -> Answer:
    old = question.get("old")
    return {"errors": _errors(validate_schemas(question["object"]["spec"], old["spec"] if old else None))}


def _cel(question: Question) -> Answer:
    bindings = question.get("object") or {}
    environment = Environment(dict.fromkeys(bindings, types.DYN))
    try:
        expr, type = environment.check(question["text"])
    except CompileError as error:
        return {"issues": str(error)}
    answer: Answer = {"type": type.runtime_name if not type.params else str(type)}
    answer["estimate"] = [str(limit) for limit in Estimator().cost(expr)]
    try:
        value = environment.program(expr, type).eval(bindings)
    except (InstantiationError, values.EvaluationError) as error:
        return {**answer, "error": str(error)}
    return {**answer, "value": f"{values.type_of_value(value).runtime_name} {to_json(_native(value))}"}


def _native(value: Any) -> Any:
    """A value as JSON can hold it."""
    match value:
        case list() | values.ListValue():
            return [_native(item) for item in value]
        case dict():
            return {str(key).lower() if key is True or key is False else str(key): _native(value[key]) for key in value}
        case values.Optional():
            return [_native(value.value)] if value.present else []
        case float():
            return format_float(value)
        case bytes():
            return base64.b64encode(value).decode()
        case QuantityValue():
            return str(value.quantity)
        case values.Opaque():
            return str(value)
    return value


def _regexp(question: Question) -> Answer:
    try:
        regexp = compile_regexp(question["text"])
    except InvalidRegexp as error:
        return {"error": str(error)}
    return {"matches": regexp.matches(question["value"]), "found": regexp.find_all(question["value"])}


def _format(question: Question) -> Answer:
    check = formats.checker(question["text"])
    assert check is not None
    return {"valid": check(question["value"])}


def _labels(question: Question) -> Answer:
    try:
        selector = labels.parse(question["text"])
    except labels.InvalidSelector as error:
        return {"error": str(error)}
    return {"text": str(selector), "matches": selector.matches(question.get("labels"))}


def _fields(question: Question) -> Answer:
    try:
        selector = fields.parse(question["text"])
    except fields.InvalidSelector as error:
        return {"error": str(error)}
    return {"text": str(selector), "matches": selector.matches(question.get("labels") or {})}


def _names(question: Question) -> Answer:
    text = question["text"]
    return {
        "dns1123Label": names.dns1123_label_errors(text),
        "dns1123Subdomain": names.dns1123_subdomain_errors(text),
        "dns1035Label": names.dns1035_label_errors(text),
        "qualifiedName": names.qualified_name_errors(text),
        "labelValue": names.label_value_errors(text),
        "configMapKey": names.config_map_key_errors(text),
    }


_HANDLERS: dict[str, Callable[[Question], Answer]] = {
    "cel": _cel,
    "crd": _definition,
    "fields": _fields,
    "format": _format,
    "labels": _labels,
    "names": _names,
    "quote": lambda question: {"quoted": quote(question["text"])},
    "regexp": _regexp,
    "resource": _resource,
}
