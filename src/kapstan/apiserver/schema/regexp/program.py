"""Matching regular expressions in time linear in the text, whatever the pattern: an automaton that never backtracks.

Python's `re` would let a pattern such as `(a+)+$` stall the server. A pattern is compiled to a small program; matching
builds a deterministic automaton from it as texts come by and keeps it, so that a known text costs one dictionary
lookup per character.
"""

from __future__ import annotations

from typing import TypeAlias

from kapstan.apiserver.schema.regexp.charset import CharSet
from kapstan.apiserver.schema.regexp.syntax import Alternate, Assertion, Concat, InvalidRegexp, Node, Repeat, parse

__all__ = ("Regexp", "compile_regexp")

_END = ""  # stands for the end of the text where a next character is asked for
_MAX_STATES = 2000
_MAX_INSTRUCTIONS = 200_000

# A character to read and where to go then; a place to check; a choice, preferred first; the match.
Instruction: TypeAlias = "tuple[CharSet | Assertion, int] | tuple[int, int] | None"


class _State(dict[str, "_State"]):
    """A state of the automaton: where it goes for each character that it has met."""

    __slots__ = ("_accepts", "_before", "_points", "_regexp", "matched")

    def __init__(self, regexp: Regexp, points: frozenset[int], before: str, matched: bool) -> None:
        self._regexp = regexp
        self._points = points
        self._before = before
        self._accepts: bool | None = None
        self.matched = matched

    def __missing__(self, char: str) -> _State:
        state = self if self.matched else self._regexp.step(self._points, self._before, char)
        self[char] = state
        return state

    def accepts(self) -> bool:
        """Whether the text matches if it ends here."""
        if self._accepts is None:
            self._accepts = self.matched or self._regexp.is_final(self._points, self._before)
        return self._accepts


class Regexp:
    """A compiled pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._program: list[Instruction] = []
        _Compiler(pattern, self._program).compile(parse(pattern))
        self._states: dict[tuple[frozenset[int], str], _State] = {}
        self._start = self._state(self._reach([0]), "start")

    def matches(self, text: str) -> bool:
        """Whether the pattern occurs in the text."""
        state = self._start
        for char in text:
            state = state[char]
        return state.accepts()

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Where the pattern occurs first: the leftmost place, and there what the pattern prefers."""
        found: tuple[int, int] | None = None
        threads: dict[int, int] = {}  # instruction → where its match began, preferred first
        for at in range(start, len(text) + 1):
            if found is None:
                threads.setdefault(0, at)
            elif not threads:
                break
            char = text[at] if at < len(text) else _END
            before = text[at - 1] if at else "start"
            following: dict[int, int] = {}
            for point, began in self._expand(threads, before, char).items():
                instruction = self._program[point]
                if instruction is None:
                    found = (began, at)
                    break
                target = instruction[0]
                if isinstance(target, CharSet) and char and char in target:
                    following.setdefault(instruction[1], began)
            threads = following
        return found

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """What the pattern matches in the text, left to right, without overlap; at most `limit` if not negative."""
        found: list[str] = []
        at, last_end = 0, -1
        while at <= len(text) and (limit < 0 or len(found) < limit):
            match = self.find(text, at)
            if match is None:
                break
            begin, end = match
            if end > begin or begin != last_end:  # an empty match right after another one does not count
                found.append(text[begin:end])
            last_end = end
            at = end if end > begin else end + 1
        return found

    def step(self, points: frozenset[int], before: str, char: str) -> _State:
        """The state after one more character."""
        reached = self._reach(points, before, char)
        if any(self._program[point] is None for point in reached):
            return self._state(frozenset(), "", matched=True)
        targets = [
            instruction[1]
            for point in reached
            if (instruction := self._program[point]) is not None
            and isinstance(instruction[0], CharSet)
            and char in instruction[0]
        ]
        return self._state(self._reach([*targets, 0]), char)

    def is_final(self, points: frozenset[int], before: str) -> bool:
        """Whether a match is complete if the text ends here."""
        return any(self._program[point] is None for point in self._reach(points, before, _END))

    def _state(self, points: frozenset[int], before: str, matched: bool = False) -> _State:
        context = "matched" if matched else _context(before)
        state = self._states.get((points, context))
        if state is None:
            if len(self._states) >= _MAX_STATES:
                self._forget()
            state = self._states[points, context] = _State(self, points, before, matched)
        return state

    def _forget(self) -> None:
        """Start over with an empty automaton, so that hostile texts cannot fill the memory."""
        for state in self._states.values():
            state.clear()
        self._states.clear()
        self._states[self._start._points, "start"] = self._start

    def _reach(self, points: frozenset[int] | list[int], before: str = "", char: str | None = None) -> frozenset[int]:
        """Instructions that can be next without reading; places are passed only if `char`, what follows, is known."""
        seen: set[int] = set()
        todo = list(points)
        while todo:
            point = todo.pop()
            if point in seen:
                continue
            seen.add(point)
            instruction = self._program[point]
            if instruction is None:
                continue
            head, target = instruction
            if isinstance(head, int):
                todo += (head, target)
            elif isinstance(head, Assertion) and char is not None and _holds(head.kind, before, char):
                todo.append(target)
        return frozenset(seen)

    def _expand(self, threads: dict[int, int], before: str, char: str) -> dict[int, int]:
        """Like `_reach`, with the order of preference kept."""
        ordered: dict[int, int] = {}
        for first, began in threads.items():
            todo = [first]
            while todo:
                point = todo.pop()
                if point in ordered:
                    continue
                ordered[point] = began
                instruction = self._program[point]
                if instruction is None:
                    continue
                head, target = instruction
                if isinstance(head, int):
                    todo += (target, head)
                elif isinstance(head, Assertion) and _holds(head.kind, before, char):
                    todo.append(target)
        return ordered


_cache: dict[str, Regexp] = {}


def compile_regexp(pattern: str) -> Regexp:
    """Compile a pattern, or find it compiled; InvalidRegexp says what is wrong with it."""
    regexp = _cache.get(pattern)
    if regexp is None:
        regexp = Regexp(pattern)
        if len(_cache) >= 1000:
            _cache.clear()
        _cache[pattern] = regexp
    return regexp


def _is_word(char: str) -> bool:
    return len(char) == 1 and (char == "_" or (char.isascii() and char.isalnum()))


def _context(before: str) -> str:
    """All that later places can ask about the character before."""
    if before in ("start", "\n"):
        return before
    return "word" if _is_word(before) else "other"


def _holds(kind: str, before: str, char: str) -> bool:
    match kind:
        case "begin-text":
            return before == "start"
        case "end-text":
            return char == _END
        case "begin-line":
            return before in ("start", "\n")
        case "end-line":
            return char in (_END, "\n")
    boundary = _is_word(before) is not _is_word(char)
    return boundary if kind == "word-boundary" else not boundary


class _Compiler:
    """Appends a tree to a program; the code of each node falls through to what comes after it."""

    def __init__(self, pattern: str, program: list[Instruction]) -> None:
        self._pattern = pattern
        self._program = program

    def compile(self, node: Node) -> None:
        self._node(node)
        self._emit(None)

    def _emit(self, instruction: Instruction) -> int:
        if len(self._program) >= _MAX_INSTRUCTIONS:
            raise InvalidRegexp("expression too large", self._pattern)
        self._program.append(instruction)
        return len(self._program) - 1

    def _node(self, node: Node) -> None:
        match node:
            case Concat(parts):
                for part in parts:
                    self._node(part)
            case Alternate(parts):
                self._alternate(parts)
            case Repeat(inner, minimum, maximum, greedy):
                for _ in range(minimum):
                    self._node(inner)
                if maximum is None:
                    self._star(inner, greedy)
                else:
                    self._optional(inner, maximum - minimum, greedy)
            case _:
                next_point = len(self._program) + 1
                self._emit((node, next_point))

    def _alternate(self, parts: list[Node]) -> None:
        exits = []
        for part in parts[:-1]:
            choice = self._emit((0, 0))
            self._node(part)
            exits.append(self._emit((0, 0)))
            self._program[choice] = (choice + 1, len(self._program))
        self._node(parts[-1])
        for point in exits:
            self._program[point] = (len(self._program), len(self._program))

    def _star(self, inner: Node, greedy: bool) -> None:
        """`(inner+)?`: an inner part that can be empty must find its way out after one round."""
        enter = self._emit((0, 0))
        self._node(inner)
        again = self._emit((0, 0))
        self._program[enter] = self._program[again] = _prefer(enter + 1, again + 1, greedy)

    def _optional(self, inner: Node, times: int, greedy: bool) -> None:
        choices = []
        for _ in range(times):
            choices.append(self._emit((0, 0)))
            self._node(inner)
        for choice in choices:
            self._program[choice] = _prefer(choice + 1, len(self._program), greedy)


def _prefer(inside: int, after: int, greedy: bool) -> tuple[int, int]:
    return (inside, after) if greedy else (after, inside)
