"""Label selectors: `app=web,tier in (front,back),!legacy`, parsed, matched and written back as Kubernetes does.

A Selector is immutable. Its requirements are ordered by key and all must hold. `Selector()` matches everything;
`NOTHING` matches nothing, which is what an absent LabelSelector means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from kapstan.machinery.golang import quote
from kapstan.machinery.names import label_value_errors, qualified_name_errors
from kapstan.machinery.validation import FieldError, Path, aggregate

__all__ = (
    "EVERYTHING",
    "NOTHING",
    "InvalidSelector",
    "Operator",
    "Requirement",
    "Selector",
    "from_label_selector",
    "from_labels",
    "parse",
)

Labels: TypeAlias = Mapping[str, str]


class InvalidSelector(ValueError):
    """The text or object is no label selector; the message is Kubernetes'."""


class Operator(StrEnum):
    """How a requirement relates a label to values."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


_BINARY = tuple(Operator)[:7]
_LABEL_SELECTOR_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
_WRITTEN = {
    Operator.EQUALS: "{key}={values}",
    Operator.DOUBLE_EQUALS: "{key}=={values}",
    Operator.NOT_EQUALS: "{key}!={values}",
    Operator.IN: "{key} in ({values})",
    Operator.NOT_IN: "{key} notin ({values})",
    Operator.GREATER_THAN: "{key}>{values}",
    Operator.LESS_THAN: "{key}<{values}",
    Operator.EXISTS: "{key}",
    Operator.DOES_NOT_EXIST: "!{key}",
}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64 = range(-(2**63), 2**63)


class Requirement:
    """One condition on one label. Construction checks it and raises InvalidSelector."""

    __slots__ = ("key", "matches", "operator", "values")

    def __init__(self, key: str, operator: Operator, values: Sequence[str] = ()) -> None:
        errors = _requirement_errors(key, operator, values)
        if errors:
            raise InvalidSelector(aggregate(errors))
        self.key = key
        self.operator = operator
        self.values = tuple(values)
        self.matches = _matcher(key, operator, self.values)

    def __str__(self) -> str:
        return _WRITTEN[self.operator].format(key=self.key, values=",".join(sorted(self.values)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requirement) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, Operator, tuple[str, ...]]:
        return self.key, self.operator, self.values


class Selector:
    """Requirements that must all hold."""

    __slots__ = ("_matchers", "requirements")

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self._matchers = tuple(requirement.matches for requirement in self.requirements)

    def matches(self, labels: Labels | None) -> bool:
        """Whether an object with these labels is selected."""
        labels = labels or {}
        for matches in self._matchers:  # noqa: SIM110 - a loop is twice as fast as all() over a generator
            if not matches(labels):
                return False
        return True

    @property
    def empty(self) -> bool:
        """Whether everything is selected."""
        return not self.requirements

    def exact_match(self, key: str) -> str | None:
        """The one value that the label must have, where the selector says so."""
        for requirement in self.requirements:
            if requirement.key == key:
                equals = requirement.operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)
                return requirement.values[0] if equals and len(requirement.values) == 1 else None
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"Selector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)


class _Nothing(Selector):
    __slots__ = ()

    def matches(self, labels: Labels | None) -> bool:
        return False

    @property
    def empty(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "NOTHING"


EVERYTHING = Selector()
NOTHING = _Nothing()


class _LabelSelectorObject(Protocol):
    """The shape of meta/v1's LabelSelector."""

    @property
    def match_labels(self) -> Mapping[str, str] | None: ...
    @property
    def match_expressions(self) -> Sequence[Any] | None: ...


def from_labels(labels: Labels) -> Selector:
    """A selector for objects that have all these labels."""
    return Selector(Requirement(key, Operator.EQUALS, [value]) for key, value in labels.items())


def from_label_selector(selector: Mapping[str, Any] | _LabelSelectorObject | None) -> Selector:
    """A selector from meta/v1's LabelSelector, as a decoded dict or as the typed object.

    None selects nothing and an empty one everything, as everywhere in Kubernetes.
    """
    if selector is None:
        return NOTHING
    if isinstance(selector, Mapping):
        labels, expressions = selector.get("matchLabels"), selector.get("matchExpressions")
    else:
        labels, expressions = selector.match_labels, selector.match_expressions
    requirements = [Requirement(key, Operator.EQUALS, [value]) for key, value in (labels or {}).items()]
    requirements += map(_from_expression, expressions or ())
    return Selector(requirements)


def _from_expression(expression: Any) -> Requirement:
    if isinstance(expression, Mapping):
        key, name, values = expression.get("key"), expression.get("operator"), expression.get("values")
    else:
        key, name, values = expression.key, expression.operator, expression.values
    operator = _LABEL_SELECTOR_OPERATORS.get(name or "")
    if operator is None:
        raise InvalidSelector(f"{quote(name or '')} is not a valid label selector operator")
    return Requirement(key or "", operator, values or ())


def _matcher(key: str, operator: Operator, values: tuple[str, ...]) -> Callable[[Labels], bool]:
    """The requirement as one closure: this runs for every object of every list and watch."""
    match operator:
        case Operator.EXISTS:
            return lambda labels: key in labels
        case Operator.DOES_NOT_EXIST:
            return lambda labels: key not in labels
        case Operator.EQUALS | Operator.DOUBLE_EQUALS:
            wanted = values[0]
            return lambda labels: labels.get(key) == wanted
        case Operator.NOT_EQUALS:
            unwanted = values[0]
            return lambda labels: labels.get(key) != unwanted
        case Operator.IN:
            allowed = frozenset(values)
            return lambda labels: labels.get(key) in allowed
        case Operator.NOT_IN:
            refused = frozenset(values)
            return lambda labels: labels.get(key) not in refused
        case Operator.GREATER_THAN:
            floor = int(values[0])
            return lambda labels: (number := _integer(labels.get(key))) is not None and number > floor
        case Operator.LESS_THAN:
            ceiling = int(values[0])
            return lambda labels: (number := _integer(labels.get(key))) is not None and number < ceiling


def _integer(text: str | None) -> int | None:
    if text is None or len(text) > 32 or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


def _requirement_errors(key: str, operator: Operator, values: Sequence[str]) -> list[FieldError]:
    errors = []
    if complaints := qualified_name_errors(key):
        errors.append(FieldError.invalid("key", key, "; ".join(complaints)))
    at = Path("values")
    match operator:
        case Operator.IN | Operator.NOT_IN if not values:
            detail = "for 'in', 'notin' operators, values set can't be empty"
            errors.append(FieldError.invalid(at, list(values), detail))
        case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.NOT_EQUALS if len(values) != 1:
            errors.append(FieldError.invalid(at, list(values), "exact-match compatibility requires one single value"))
        case Operator.EXISTS | Operator.DOES_NOT_EXIST if values:
            detail = "values set must be empty for exists and does not exist"
            errors.append(FieldError.invalid(at, list(values), detail))
        case Operator.GREATER_THAN | Operator.LESS_THAN:
            errors += _inequality_errors(values, at)
    for position, value in enumerate(values):
        if complaints := label_value_errors(value):
            errors.append(FieldError.invalid(at.index(position).key(key), value, "; ".join(complaints)))
    return errors


def _inequality_errors(values: Sequence[str], at: Path) -> list[FieldError]:
    errors = []
    if len(values) != 1:
        detail = "for 'Gt', 'Lt' operators, exactly one value is required"
        errors.append(FieldError.invalid(at, list(values), detail))
    for position, value in enumerate(values):
        if _integer(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(FieldError.invalid(at.index(position), value, detail))
    return errors


# --- The text form ---------------------------------------------------------------------------------------------

_TOKENS = {
    ")": ")",
    ",": ",",
    "!": Operator.DOES_NOT_EXIST,
    "==": Operator.DOUBLE_EQUALS,
    "=": Operator.EQUALS,
    ">": Operator.GREATER_THAN,
    "in": Operator.IN,
    "<": Operator.LESS_THAN,
    "!=": Operator.NOT_EQUALS,
    "notin": Operator.NOT_IN,
    "(": "(",
}
_LEXER = re.compile(r"[ \t\r\n]*(==|!=|[=!(),><]|[^=!(),>< \t\r\n]+|\Z)")
_IDENTIFIER, _END = "identifier", "end"


def parse(text: str) -> Selector:
    """Parse a `labelSelector` query parameter or a `--selector` flag; InvalidSelector says what is wrong."""
    return Selector(_Parser(text).requirements())


def _lex(text: str) -> list[tuple[str, str]]:
    """Tokens as (kind, literal); the last one is the end."""
    words = _LEXER.findall(text)
    return [(_TOKENS.get(word, _IDENTIFIER) if word else _END, word) for word in words]


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _lex(text)
        self._next = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            kind, literal = self._peek()
            if kind == _END:
                return found
            if kind not in (_IDENTIFIER, Operator.DOES_NOT_EXIST):
                raise InvalidSelector(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except InvalidSelector as error:
                raise InvalidSelector(f"unable to parse requirement: {error}") from None
            kind, literal = self._take()
            if kind == _END:
                return found
            if kind != ",":
                raise InvalidSelector(f"found '{literal}', expected: ',' or 'end of string'")
            kind, literal = self._peek()
            if kind not in (_IDENTIFIER, Operator.DOES_NOT_EXIST):
                raise InvalidSelector(f"found '{literal}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        kind, literal = self._take()
        negated = kind == Operator.DOES_NOT_EXIST
        if negated:
            kind, literal = self._take()
        if kind != _IDENTIFIER:
            raise InvalidSelector(f"found '{literal}', expected: identifier")
        key = literal
        if complaints := qualified_name_errors(key):
            raise InvalidSelector(str(FieldError.invalid(Path(), key, "; ".join(complaints))))
        if negated:
            return Requirement(key, Operator.DOES_NOT_EXIST)
        if self._peek()[0] in (_END, ","):
            return Requirement(key, Operator.EXISTS)
        operator = self._operator()
        values = self._value_set() if operator in (Operator.IN, Operator.NOT_IN) else self._exact_value()
        return Requirement(key, operator, sorted(values))

    def _operator(self) -> Operator:
        kind, literal = self._take(as_value=False)
        if kind not in _BINARY:
            raise InvalidSelector(f"found '{literal}', expected: {', '.join(_BINARY)}")
        return Operator(kind)

    def _exact_value(self) -> set[str]:
        if self._peek()[0] in (_END, ","):
            return {""}
        kind, literal = self._take()
        if kind != _IDENTIFIER:
            raise InvalidSelector(f"found '{literal}', expected: identifier")
        return {literal}

    def _value_set(self) -> set[str]:
        kind, literal = self._take()
        if kind != "(":
            raise InvalidSelector(f"found '{literal}' expected: '('")
        kind, literal = self._peek()
        if kind == ")":
            self._take()
            return {""}
        if kind not in (_IDENTIFIER, ","):
            raise InvalidSelector(f"found '{literal}', expected: ',', ')' or identifier")
        values = self._identifiers()
        if self._take()[0] != ")":
            raise InvalidSelector(f"found '{literal}', expected: ')'")
        return values

    def _identifiers(self) -> set[str]:
        """Comma-separated values up to the closing parenthesis; a missing one is the empty value."""
        values: set[str] = set()
        while True:
            kind, literal = self._take()
            following, following_literal = self._peek()
            if kind == _IDENTIFIER:
                values.add(literal)
                if following == ")":
                    return values
                if following != ",":
                    raise InvalidSelector(f"found '{following_literal}', expected: ',' or ')'")
            elif kind == ",":
                if not values or following in (")", ","):
                    values.add("")
                if following == ")":
                    return values
            else:
                raise InvalidSelector(f"found '{literal}', expected: ',', or identifier")

    def _peek(self) -> tuple[str, str]:
        return _as_value(self._tokens[min(self._next, len(self._tokens) - 1)])

    def _take(self, as_value: bool = True) -> tuple[str, str]:
        token = self._tokens[min(self._next, len(self._tokens) - 1)]
        self._next += 1
        return _as_value(token) if as_value else token


def _as_value(token: tuple[str, str]) -> tuple[str, str]:
    """`in` and `notin` are operators only where an operator may stand."""
    return (_IDENTIFIER, token[1]) if token[0] in (Operator.IN, Operator.NOT_IN) else token
