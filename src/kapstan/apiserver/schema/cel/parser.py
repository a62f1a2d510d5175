"""The parser: from text to a tree, macros expanded. Issues are worded as cel-go's ANTLR parser words them.

ANTLR can go on after a mistake by dropping or inventing a token; of that, only the simplest cases are imitated.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NoReturn

from kapstan.apiserver.schema.cel.ast import Call, Entry, Expr, Ident, ListExpr, Literal, MapExpr, Select, StructExpr
from kapstan.apiserver.schema.cel.lexer import END, Token, tokenize
from kapstan.apiserver.schema.cel.literals import unquote, unquote_bytes
from kapstan.apiserver.schema.cel.macros import MACROS, MacroError
from kapstan.apiserver.schema.cel.source import CompileError, Issue, Source
from kapstan.apiserver.schema.cel.values import Uint
from kapstan.apiserver.schema.numeric import INT64

__all__ = ("RESERVED", "parse")

_LITERALS = ("true", "false", "null", "in")
_FUTURE = ("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package")
RESERVED = frozenset((*_LITERALS, *_FUTURE, "namespace", "return", "var", "void", "while"))
_MAX_SIZE = 100_000
_MAX_DEPTH = 250
_RELATIONS = {"<": "_<_", "<=": "_<=_", ">=": "_>=_", ">": "_>_", "==": "_==_", "!=": "_!=_", "in": "@in"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}
_SUMS = {"+": "_+_", "-": "_-_"}
_OPERAND = ("[", "{", "(", ".", "-", "!", "true", "false", "null")
_OPERAND_CLASSES = ("NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER")
_STARTS = frozenset((*_OPERAND, *_OPERAND_CLASSES))


class _Stop(Exception):
    """The text cannot be followed any further."""


def parse(source: Source) -> Expr:
    """The tree of an expression; CompileError shows what is wrong."""
    return _Parser(source).parse()


def _expected(*more: str) -> str:
    """The set of tokens that may begin an operand, in the grammar's order."""
    order = ("[", "{", "(", ")", ".", "-", "!", "?", "true", "false", "null")
    symbols = [symbol for symbol in order if symbol in _OPERAND or symbol in more]
    return "{" + ", ".join([*(f"'{symbol}'" for symbol in symbols), *_OPERAND_CLASSES]) + "}"


class _Parser:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens, self._issues = tokenize(source.text)
        self._next = 0
        self._depth = 0

    def parse(self) -> Expr:
        expr: Expr | None = None
        if len(self._source.text) > _MAX_SIZE:
            size = len(self._source.text)
            self._issues = [Issue(0, f"expression code point size exceeds limit: size: {size}, limit {_MAX_SIZE}")]
        else:
            try:
                expr = self._expression()
                if self._peek.kind != END:
                    self._unexpected("<EOF>", may_drop=(END,))
            except _Stop:
                pass
            except RecursionError:
                self._issues.append(Issue(0, f"Internal error: expression recursion limit exceeded: {_MAX_DEPTH}"))
        if self._issues or expr is None:
            raise CompileError(self._source, self._issues)
        return expr

    # --- Tokens

    @property
    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += token.kind != END
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._take() if self._peek.kind == kind else None

    def _close(self, kind: str, shown: str | None = None) -> Token:
        """A closing token; if it is missing and what comes could follow it, only that is said."""
        if self._peek.kind != kind:
            if shown is not None:
                self._unexpected(shown)
            found = self._peek
            self._issues.append(Issue(found.at, f"Syntax error: missing '{kind}' at '{found.text}'"))
            raise _Stop
        return self._take()

    def _unexpected(self, expected: str, may_drop: Container[str] = ()) -> NoReturn:
        """Say what was expected; `may_drop` are tokens that make the one before them merely superfluous."""
        token, following = self._peek, self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        word = "extraneous" if token.kind != END and following.kind in may_drop else "mismatched"
        self._issues.append(Issue(token.at, f"Syntax error: {word} input '{token.text}' expecting {expected}"))
        raise _Stop

    def _report(self, at: int, message: str) -> Expr:
        self._issues.append(Issue(at, message))
        return Literal(at, None)

    # --- Grammar

    def _expression(self) -> Expr:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise RecursionError
        condition = self._disjunction()
        if (question := self._accept("?")) is not None:
            then = self._disjunction()
            self._close(":", "':'")
            condition = Call(question.at, "_?_:_", [condition, then, self._expression()])
        self._depth -= 1
        return condition

    def _disjunction(self) -> Expr:
        return self._logical("||", "_||_", self._conjunction)

    def _conjunction(self) -> Expr:
        return self._logical("&&", "_&&_", self._relation)

    def _logical(self, symbol: str, function: str, operand: Callable[[], Expr]) -> Expr:
        """A chain of one operator is one call, however long it is."""
        terms = [operand()]
        at = self._peek.at
        while self._accept(symbol) is not None:
            terms.append(operand())
        return Call(at, function, terms) if len(terms) > 1 else terms[0]

    def _binary(self, operators: dict[str, str], operand: Callable[[], Expr]) -> Expr:
        expr = operand()
        while self._peek.kind in operators:
            token = self._take()
            expr = Call(token.at, operators[token.kind], [expr, operand()])
        return expr

    def _relation(self) -> Expr:
        return self._binary(_RELATIONS, self._sum)

    def _sum(self) -> Expr:
        return self._binary(_SUMS, self._product)

    def _product(self) -> Expr:
        return self._binary(_PRODUCTS, self._unary)

    def _unary(self) -> Expr:
        first = self._peek
        if first.kind == "-" and self._tokens[self._next + 1].kind in ("NUM_INT", "NUM_FLOAT"):
            return self._member()
        if first.kind not in ("!", "-"):
            return self._member()
        count = 0
        while self._accept(first.kind) is not None:
            count += 1
            if first.kind == "-" and self._peek.kind in ("NUM_INT", "NUM_FLOAT"):
                break
        operand = self._member()
        return Call(first.at, "!_" if first.kind == "!" else "-_", [operand]) if count % 2 else operand

    def _member(self) -> Expr:
        expr = self._primary()
        while self._peek.kind in (".", "["):
            token = self._take()
            expr = self._selection(expr, token) if token.kind == "." else self._index(expr, token)
        return expr

    def _selection(self, operand: Expr, dot: Token) -> Expr:
        optional = self._accept("?") is not None
        name = self._peek
        if name.kind == "ESC_IDENTIFIER":
            return self._report(self._take().at, "unsupported syntax: '`'")
        if name.kind != "IDENTIFIER":
            self._no_viable_field(dot, name)
        self._take()
        if optional:
            return Call(dot.at, "_?._", [operand, Literal(name.at, name.text)])
        if (opening := self._accept("(")) is not None:
            return self._call(opening.at, name.text, self._arguments(), operand)
        if self._peek.kind == "{" and (qualified := _qualified_name(operand)):
            return self._message(f"{qualified}.{name.text}")
        return Select(dot.at, operand, name.text)

    def _no_viable_field(self, dot: Token, name: Token) -> NoReturn:
        shown = "" if name.kind == END else name.text
        if name.kind in ("true", "false", "null"):
            message = f"mismatched input '{name.text}' expecting IDENTIFIER"
        else:
            message = f"no viable alternative at input '{dot.text}{shown}'"
        self._issues.append(Issue(name.at, f"Syntax error: {message}"))
        raise _Stop

    def _index(self, operand: Expr, bracket: Token) -> Expr:
        optional = self._accept("?") is not None
        self._needs_operand("?")
        index = self._expression()
        self._close("]")
        return Call(bracket.at, "_[?_]" if optional else "_[_]", [operand, index])

    def _arguments(self) -> list[Expr]:
        if self._accept(")") is not None:
            return []
        self._needs_operand(")")
        args = [self._expression()]
        while self._accept(",") is not None:
            args.append(self._expression())
        self._close(")")
        return args

    def _needs_operand(self, *also: str) -> None:
        if self._peek.kind not in _STARTS:
            self._unexpected(_expected(*also), may_drop=_STARTS)

    def _call(self, at: int, function: str, args: list[Expr], target: Expr | None = None) -> Expr:
        macro = MACROS.get((function, len(args), target is not None))
        if macro is None:
            return Call(at, function, args, target)
        try:
            return macro(at, target or Literal(at, None), args)
        except MacroError as error:
            return self._report(error.at, str(error))

    def _primary(self) -> Expr:
        self._needs_operand()
        token = self._take()
        match token.kind:
            case "(":
                expr = self._expression()
                self._close(")")
                return expr
            case "[":
                return self._list(token.at)
            case "{":
                return self._map(token.at)
            case "." | "IDENTIFIER":
                return self._name(token)
            case "true" | "false":
                return Literal(token.at, token.kind == "true")
            case "null":
                return Literal(token.at, None)
        return self._constant(token)

    def _name(self, token: Token) -> Expr:
        prefix = ""
        if token.kind == ".":
            prefix, token = ".", self._peek
            if token.kind != "IDENTIFIER":
                self._unexpected("IDENTIFIER")
            self._take()
        if token.text in RESERVED:
            return self._report(token.at, f"reserved identifier: {token.text}")
        if (opening := self._accept("(")) is not None:
            return self._call(opening.at, prefix + token.text, self._arguments())
        if self._peek.kind == "{":
            return self._message(prefix + token.text)
        return Ident(token.at, prefix + token.text)

    def _list(self, at: int) -> Expr:
        elements: list[Expr] = []
        optionals = set()
        self._accept(",")  # the grammar lets an empty list have its comma
        while self._peek.kind != "]":
            if self._accept("?") is not None:
                optionals.add(len(elements))
            elements.append(self._expression())
            if self._accept(",") is None:
                break
        self._close("]", "{']', ','}")
        return ListExpr(at, elements, frozenset(optionals))

    def _map(self, at: int) -> Expr:
        entries: list[Entry] = []
        self._accept(",")
        while self._peek.kind != "}":
            optional = self._accept("?") is not None
            key = self._expression()
            colon = self._close(":", "':'")
            entries.append(Entry(colon.at, key, self._expression(), optional))
            if self._accept(",") is None:
                break
        self._close("}", "{'}', ','}")
        return MapExpr(at, entries)

    def _message(self, name: str) -> Expr:
        at = self._take().at
        fields: list[Entry] = []
        while self._peek.kind != "}":
            optional = self._accept("?") is not None
            if self._peek.kind != "IDENTIFIER":
                self._unexpected("{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}")
            field = self._take().text
            colon = self._close(":", "':'")
            fields.append(Entry(colon.at, field, self._expression(), optional))
            if self._accept(",") is None:
                break
        self._close("}", "{'}', ','}")
        return StructExpr(at, name, fields)

    # --- Constants

    def _constant(self, token: Token) -> Expr:
        start, text = token.at, token.text
        if token.kind == "-":
            token = self._peek
            if token.kind not in ("NUM_INT", "NUM_FLOAT"):
                self._needs_operand()
            self._take()
            text = f"-{token.text}"
        try:
            match token.kind:
                case "NUM_INT":
                    return self._integer(start, text)
                case "NUM_UINT":
                    number = int(text[:-1], 16 if text.startswith("0x") else 10)
                    return (
                        Literal(start, Uint(number)) if number < 2**64 else self._report(start, "invalid uint literal")
                    )
                case "NUM_FLOAT":
                    value = float(text)
                    finite = value not in (float("inf"), float("-inf"))
                    return Literal(start, value) if finite else self._report(start, "invalid double literal")
                case "STRING":
                    return Literal(start, unquote(text))
                case _:
                    return Literal(start, unquote_bytes(text))
        except ValueError as error:
            return self._report(start, str(error))

    def _integer(self, at: int, text: str) -> Expr:
        number = int(text, 16 if "0x" in text else 10)
        return Literal(at, number) if number in INT64 else self._report(at, "invalid int literal")


def _qualified_name(expr: Expr) -> str | None:
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.test_only and (prefix := _qualified_name(expr.operand)):
        return f"{prefix}.{expr.field}"
    return None
