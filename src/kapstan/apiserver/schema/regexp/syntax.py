"""The syntax of regular expressions in schemas and CEL: Go's (RE2), which is not Python's.

`parse` makes a tree of nodes and refuses what Go refuses, with Go's words. Groups only group here: nobody asks
for submatches.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from kapstan.apiserver.schema.regexp.charset import ANY, ANY_BUT_NEWLINE, PERL, POSIX, CharSet, Member, unicode_class

__all__ = ("Alternate", "Assertion", "Concat", "InvalidRegexp", "Node", "Repeat", "parse")


class InvalidRegexp(ValueError):
    """The text is no regular expression; the message is Go's."""

    def __init__(self, problem: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{part}`")


class Assertion(NamedTuple):
    """A place, not a character: `^`, `$`, `\\b`."""

    kind: str  # begin-text, end-text, begin-line, end-line, word-boundary, no-word-boundary


class Concat(NamedTuple):
    """One after the other."""

    parts: list[Node]


class Alternate(NamedTuple):
    """One of these, the first that fits preferred."""

    parts: list[Node]


class Repeat(NamedTuple):
    """The same again, `minimum` to `maximum` times; no maximum is None."""

    node: Node
    minimum: int
    maximum: int | None
    greedy: bool


Node: TypeAlias = "CharSet | Assertion | Concat | Alternate | Repeat"

_MAX_REPEAT = 1000
_MAX_DEPTH = 1000
_COUNT = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_BAD_FLAGS = re.compile(r"\(\?[imsU]*(?:-[imsU]*)?.?", re.DOTALL)
_NAMED_GROUP = re.compile(r"\(\?P?<([^>]*)>")
_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_HEX = re.compile(r"x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_BAD_HEX = re.compile(r"\\x(?:\{[0-9A-Fa-f]*.?|.{0,2})", re.DOTALL)
_PLACES = {"A": "begin-text", "z": "end-text", "b": "word-boundary", "B": "no-word-boundary"}
_STARS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class _Group:
    """A group that is still open: its alternatives so far and the one being read."""

    def __init__(self, flags: frozenset[str]) -> None:
        self.outer_flags = flags
        self.alternatives: list[Node] = []
        self.sequence: list[Node] = []

    def close(self) -> Node:
        self.alternatives.append(Concat(self.sequence))
        return self.alternatives[0] if len(self.alternatives) == 1 else Alternate(self.alternatives)


def parse(pattern: str) -> Node:
    """The tree of a pattern; InvalidRegexp says what is wrong with it."""
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._flags: frozenset[str] = frozenset()
        self._groups = [_Group(self._flags)]
        self._last_repeat: int | None = None  # where the repetition just read starts

    def parse(self) -> Node:
        while self._at < len(self._text):
            start, repeated = self._at, self._repetition()
            self._last_repeat = start if repeated else None
            if not repeated:
                self._item()
        if len(self._groups) != 1:
            raise InvalidRegexp("missing closing )", self._text)
        return self._groups[0].close()

    def _push(self, node: Node) -> None:
        self._groups[-1].sequence.append(node)

    def _item(self) -> None:
        char = self._text[self._at]
        match char:
            case "(":
                self._open()
            case "|":
                group = self._groups[-1]
                group.alternatives.append(Concat(group.sequence))
                group.sequence = []
                self._at += 1
            case ")":
                self._close()
            case "[":
                self._push(self._bracket())
            case "\\":
                self._escape()
            case "^" | "$":
                edge, unit = ("begin" if char == "^" else "end"), ("line" if "m" in self._flags else "text")
                self._push(Assertion(f"{edge}-{unit}"))
                self._at += 1
            case ".":
                self._push(ANY if "s" in self._flags else ANY_BUT_NEWLINE)
                self._at += 1
            case _:
                self._literal(char)
                self._at += 1

    def _literal(self, char: str) -> None:
        self._push(CharSet([(ord(char), ord(char))], fold="i" in self._flags))

    # --- Repetition

    def _repetition(self) -> bool:
        start, char = self._at, self._text[self._at]
        if char in _STARS:
            minimum, maximum = _STARS[char]
            self._at += 1
        elif char == "{" and (count := _COUNT.match(self._text, self._at)):
            self._at = count.end()
            minimum = int(count[1])
            maximum = minimum if count[2] is None else int(count[3]) if count[3] else None
            if minimum > _MAX_REPEAT or (maximum is not None and not minimum <= maximum <= _MAX_REPEAT):
                raise InvalidRegexp("invalid repeat count", count[0])
        else:
            return False
        self._repeat(start, minimum, maximum)
        return True

    def _repeat(self, start: int, minimum: int, maximum: int | None) -> None:
        greedy = "U" not in self._flags
        if self._text.startswith("?", self._at):
            self._at += 1
            greedy = not greedy
        if self._last_repeat is not None:
            raise InvalidRegexp("invalid nested repetition operator", self._text[self._last_repeat : self._at])
        sequence = self._groups[-1].sequence
        if not sequence:
            raise InvalidRegexp("missing argument to repetition operator", self._text[start : self._at])
        sequence[-1] = Repeat(sequence[-1], minimum, maximum, greedy)
        if self._text[start] == "{" and not _is_affordable(sequence[-1], _MAX_REPEAT):
            raise InvalidRegexp("invalid repeat count", self._text[start : self._at])

    # --- Groups

    def _open(self) -> None:
        if not self._text.startswith("(?", self._at):
            self._enter(self._at + 1)
            return
        if named := _NAMED_GROUP.match(self._text, self._at):
            if not re.fullmatch("[A-Za-z0-9_]+", named[1]):
                raise InvalidRegexp("invalid named capture", named[0])
            self._enter(named.end())
            return
        if self._text.startswith(("(?P<", "(?<"), self._at):
            raise InvalidRegexp("invalid named capture", self._text[self._at :])
        changes = _FLAGS.match(self._text, self._at)
        if changes is None:
            bad = _BAD_FLAGS.match(self._text, self._at)
            assert bad is not None
            raise InvalidRegexp("invalid or unsupported Perl syntax", bad[0])
        flags = (self._flags | set(changes[1])) - set(changes[2] or "")
        if changes[3] == ":":
            self._enter(changes.end())
        self._at = changes.end()
        self._flags = flags

    def _enter(self, at: int) -> None:
        self._groups.append(_Group(self._flags))
        if len(self._groups) > _MAX_DEPTH:
            raise InvalidRegexp("expression nests too deeply", self._text)
        self._at = at

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise InvalidRegexp("unexpected )", self._text)
        group = self._groups.pop()
        self._flags = group.outer_flags
        self._push(group.close())
        self._at += 1

    # --- Escapes

    def _escape(self) -> None:
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in _PLACES:
            self._push(Assertion(_PLACES[letter]))
            self._at += 2
        elif letter == "C":
            raise InvalidRegexp("invalid escape sequence", "\\C")
        elif letter == "Q":
            quoted, end, _ = self._text[self._at + 2 :].partition("\\E")
            for char in quoted:
                self._literal(char)
            self._at += 2 + len(quoted) + len(end)
        elif (members := self._class_escape()) is not None:
            self._push(CharSet([members]))
        else:
            self._literal(self._escaped_char())

    def _class_escape(self) -> Member | None:
        """`\\d`, `\\p{L}` and their negations; None if something else is escaped."""
        if not self._text.startswith("\\", self._at):
            return None
        letter = self._text[self._at + 1 : self._at + 2]
        if letter and letter in "dswDSW":
            self._at += 2
            return self._group(PERL[letter.lower()], negated=letter.isupper())
        return self._unicode_class() if letter in ("p", "P") else None

    def _unicode_class(self) -> Member:
        rest = self._text[self._at :]
        if rest.startswith("{", 2):
            end = rest.find("}")
            if end < 0:
                raise InvalidRegexp("invalid character class range", rest)
            whole, name = rest[: end + 1], rest[3:end]
        else:
            whole, name = rest[:3], rest[2:3]
        negated = (whole[1] == "P") is not name.startswith("^")
        member = unicode_class(name.removeprefix("^"))
        if member is None:
            raise InvalidRegexp("invalid character class range", whole)
        self._at += len(whole)
        return self._group([member], negated=negated)

    def _group(self, members: list[Member], *, negated: bool) -> Member:
        """A named set as one member of another: it is folded and negated before it joins."""
        return CharSet(members, negated=negated, fold="i" in self._flags).__contains__

    def _escaped_char(self) -> str:
        start = self._at
        char = self._text[start + 1 : start + 2]
        if not char:
            raise InvalidRegexp("trailing backslash at end of expression", "")
        self._at += 2
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char.isascii() and not char.isalnum():
            return char
        if octal := _OCTAL.match(self._text, start + 1):
            self._at = octal.end()
            return chr(int(octal[0], 8))
        digits = _HEX.match(self._text, start + 1)
        if digits and int(digits[1] or digits[2], 16) <= 0x10FFFF:
            self._at = digits.end()
            return chr(int(digits[1] or digits[2], 16))
        raise InvalidRegexp("invalid escape sequence", self._bad_escape(start, char))

    def _bad_escape(self, start: int, char: str) -> str:
        """The part that Go complains of: it has read as far as it took to see that the escape is bad."""
        if char != "x":
            return self._text[start : start + 2]
        bad = _BAD_HEX.match(self._text, start)
        assert bad is not None
        too_big = next((end for end in range(9, len(bad[0])) if int(bad[0][3:end], 16) > 0x10FFFF), None)
        return bad[0][:too_big]

    # --- Brackets

    def _bracket(self) -> CharSet:
        start = self._at
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        members: list[Member] = []
        first = True
        while first or not self._text.startswith("]", self._at):
            first = False
            members.append(self._bracket_member(start))
        self._at += 1
        return CharSet(members, negated=negated, fold="i" in self._flags)

    def _bracket_member(self, start: int) -> Member:
        if (named := self._posix_class()) is not None:
            return named
        if (escaped := self._class_escape()) is not None:
            return escaped
        begin, low = self._at, self._bracket_char(start)
        if not self._text.startswith("-", self._at) or self._text[self._at + 1 : self._at + 2] in ("]", ""):
            return (low, low)
        self._at += 1
        high = self._bracket_char(start)
        if high < low:
            raise InvalidRegexp("invalid character class range", self._text[begin : self._at])
        return (low, high)

    def _bracket_char(self, start: int) -> int:
        if self._at >= len(self._text):
            raise InvalidRegexp("missing closing ]", self._text[start:])
        if self._text[self._at] == "\\":
            return ord(self._escaped_char())
        self._at += 1
        return ord(self._text[self._at - 1])

    def _posix_class(self) -> Member | None:
        if not self._text.startswith("[:", self._at) or (end := self._text.find(":]", self._at + 2)) < 0:
            return None
        name = self._text[self._at + 2 : end]
        members = POSIX.get(name.removeprefix("^"))
        if members is None:
            raise InvalidRegexp("invalid character class range", f"[:{name}:]")
        self._at = end + 2
        return self._group(members, negated=name.startswith("^"))


def _is_affordable(node: Node, copies: int) -> bool:
    """Whether nested counts stay below so many copies of the innermost thing."""
    match node:
        case Repeat(inner, minimum, maximum, _) if (minimum, maximum) not in _STARS.values():
            count = minimum if maximum is None else maximum
            return count == 0 or (count <= copies and _is_affordable(inner, copies // count))
        case Repeat(inner, _, _, _):
            return _is_affordable(inner, copies)
        case Concat(parts) | Alternate(parts):
            return all(_is_affordable(part, copies) for part in parts)
    return True
