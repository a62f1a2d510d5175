"""Random expressions of well-known types, for comparisons."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ("BINDINGS", "expressions")

BINDINGS = {"i": 3, "s": "abc, de", "l": ["b", "a", "b"], "n": [3, 1, 2], "m": {"a": 1, "b": 2}, "o": {"p": {"q": "x"}}}

Text = SearchStrategy[str]

_LEAVES: dict[str, tuple[str, ...]] = {
    "int": ("0", "1", "-7", "9223372036854775807", "i", "size(l)", "dyn(i)"),
    "double": ("1.5", "-0.0", "1e300", "double(i)"),
    "bool": ("true", "false", "has(o.p)", "has(o.z)", "'a' in m", "i == 3"),
    "string": ("''", "'a'", "'é☃'", "s", "o.p.q", "'10.0.0.1'", "'1Gi'", "'2020-02-30'"),
    "list": ("l", "['a']", "[]", "['x', s]"),
    "ints": ("n", "[1]", "[3, 1, 2]", "[i, 2]"),
}
_JOINED: dict[str, tuple[str, ...]] = {
    "int": (
        "({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} / {int})", "({int} % {int})", "(-{int})",
        "({bool} ? {int} : {int})", "size({string})", "{string}.size()", "{string}.indexOf({string})",
        "{string}.lastIndexOf({string})", "{ints}[{int}]", "{ints}.sum()", "{ints}.max()", "int({double})",
        "{ints}.map(x, x + {int})[0]", "m[{string}]", "{list}.indexOf({string})", "int({string})",
        "{ints}[?{int}].orValue({int})", "m[?{string}].orValue({int})", "size({list})",
    ),
    "double": ("({double} + {double})", "({double} * {double})", "({double} / {double})", "double({int})"),
    "bool": (
        "({int} == {int})", "({int} < {int})", "({int} >= {double})", "({string} != {string})", "({string} < {string})",
        "({bool} && {bool})", "({bool} || {bool})", "(!{bool})", "({string} in {list})", "({list} == {list})",
        "{string}.startsWith({string})", "{string}.contains({string})", "{string}.matches('[a-c]+$')",
        "{list}.all(x, {bool} || x == {string})", "{list}.exists(x, x > {string})", "{ints}.exists_one(x, x == {int})",
        "m.all(k, v, k < {string} && v > {int})", "{ints}.all(j, v, j < v || {bool})", "{ints}.isSorted()",
        "({bool} ? {bool} : {bool})", "isQuantity({string})", "isIP({string})", "sets.contains({list}, {list})",
        "optional.of({int}).hasValue()", "({double} == {int})", "dyn({string}) == dyn({int})",
    ),
    "string": (
        "({string} + {string})", "string({int})", "string({double})", "{list}[{int}]", "{string}.charAt({int})",
        "{string}.substring({int})", "{string}.replace({string}, {string})", "{string}.upperAscii()",
        "{list}.join({string})", "{list}.map(x, x + {string}).join('-')",
        "'%s|%d|%.2f'.format([{string}, {int}, {double}])",
        "{string}.find('[a-z]+')", "({bool} ? {string} : {string})", "string({bool})", "{string}.trim()",
        "strings.quote({string})", "{string}.reverse()",
    ),
    "list": (
        "({list} + {list})", "{string}.split({string})", "{list}.filter(x, x != {string})", "[{string}, {string}]",
        "{list}.map(x, x.size() > {int}, x)", "{string}.findAll('[a-z]')", "m.transformList(k, v, k + {string}).sort()",
        "{list}.sort()", "{list}.distinct()", "{list}.slice({int}, {int})", "{list}.reverse()", "m.map(k, k).sort()",
    ),
    "ints": (
        "({ints} + {ints})", "[{int}, {int}]", "{ints}.filter(x, x < {int})", "{ints}.map(x, x * {int})",
        "{ints}.sort()", "{ints}.distinct()", "lists.range({int} % 5)", "{ints}.sortBy(x, -x)",
        "m.transformList(k, v, v % {int}).sort()", "[{ints}, {ints}].flatten()",
    ),
}  # fmt: skip


def _kind(name: str, depth: int) -> Text:
    leaves = st.sampled_from(_LEAVES[name])
    if depth == 0:
        return leaves
    return leaves | st.sampled_from(_JOINED[name]).flatmap(lambda pattern: _filled(pattern, depth - 1))


def _filled(pattern: str, depth: int) -> Text:
    parts = pattern.replace("}", "{").split("{")
    return st.tuples(*(_kind(part, depth) if at % 2 else st.just(part) for at, part in enumerate(parts))).map("".join)


def expressions() -> Text:
    """Expressions that compile, and mostly evaluate, over BINDINGS."""
    return st.sampled_from(sorted(_JOINED)).flatmap(lambda name: _kind(name, 3))
