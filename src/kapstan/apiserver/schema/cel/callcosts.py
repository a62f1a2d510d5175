"""Call costs: what estimates charge for each function, by the sizes of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kapstan.apiserver.schema.cel.sizes import (
    MAX_UINT64,
    ONE,
    UNKNOWN,
    ZERO,
    Estimate,
    Node,
    Sizes,
    fixed,
    literal_integer,
)

__all__ = ("call_estimate",)

_TRAVERSAL = 0.1
_REGEX = 0.25
_ADDRESS = Estimate(4, 16)  # bytes of an IP address

# Cost and size of the result, from the sizes, the receiver and the arguments; None leaves it to the overload.
Result: TypeAlias = "tuple[Estimate, Estimate | None]"
Rule: TypeAlias = "Callable[[Sizes, Node | None, list[Node], str], Result | None]"


def call_estimate(sizes: Sizes, function: str, overload: str, target: Node | None, args: list[Node]) -> Result:
    """What a call costs beside its arguments, and how large its result is if that is known."""
    for rule in (_BY_OVERLOAD.get(overload), _BY_FUNCTION.get(function), _STANDARD.get(overload)):
        if rule is not None and (found := rule(sizes, target, args, overload)) is not None:
            return found
    return ONE, None


def _size(node: Node) -> Estimate:
    """The size as cel-go's own rules see it, which do not ask the schema again."""
    return node.size or UNKNOWN


# --- Lists and sets --------------------------------------------------------------------------------------------------


def _allocating(factor: float, size: Estimate) -> Result:
    return size.scaled(factor).plus(ONE).plus(fixed(10)), size


def _sets(factor: float) -> Rule:
    def rule(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
        pairs = sizes.node_size(args[0]).times(sizes.node_size(args[1]))
        return pairs.scaled(factor).plus(ONE), None

    return rule


def _slice(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if target is None:
        return None
    start, end = literal_integer(args[0].expr), literal_integer(args[1].expr)
    last = max(end, 0) if end is not None else sizes.node_size(target).high
    return _allocating(1, fixed((last - max(start or 0, 0)) % 2**64))


def _range(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    count = literal_integer(args[0].expr)
    return _allocating(1, fixed(max(count, 0) if count is not None else MAX_UINT64))


def _reverse(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    return _allocating(1, sizes.node_size(target)) if target is not None else None


def _flatten(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if target is None:
        return None
    depth = literal_integer(args[0].expr) if args else 1
    return _allocating(float(max(depth, 0) if depth is not None else MAX_UINT64), sizes.node_size(target))


def _distinct(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if target is None:
        return None
    size = sizes.node_size(target)
    return _allocating(2, size.times(size))


def _sort(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    node = args[0] if args else target
    if node is None:
        return None
    size = sizes.node_size(node)
    factor = 2 + (_TRAVERSAL if overload.startswith(("list_string", "list_bytes")) else 0)
    return _allocating(factor, size.times(size))


_BY_OVERLOAD: dict[str, Rule] = {
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
}
for _kind in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"):
    _BY_OVERLOAD[f"list_{_kind}_sort"] = _sort
    _BY_OVERLOAD[f"list_{_kind}_sortByAssociatedKeys"] = _sort

# --- Kubernetes' functions -------------------------------------------------------------------------------------------


def _items(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    """Each item is compared once; texts are read as a whole."""
    if target is None:
        return None
    if not target.type.params:  # a text, in which something is looked for
        return sizes.node_size(target).scaled(_TRAVERSAL), None
    (item, *_), cost = target.type.params, ONE
    if item.kind in ("string", "bytes"):
        size = sizes.path_size((*target.path, "@items")) if target.path else None
        cost = cost.plus((size or UNKNOWN).scaled(_TRAVERSAL))
    return sizes.node_size(target).times(cost), None


def _receiver_text(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if target is None:
        return None
    size = sizes.node_size(target)
    return size.scaled(_TRAVERSAL), size


def _url(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    size = sizes.node_size(args[0])
    return size.scaled(_TRAVERSAL), size


def _argument_text(factor: float) -> Rule:
    def rule(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
        return (sizes.node_size(args[0]).scaled(factor * _TRAVERSAL), None) if args else None

    return rule


def _replace(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if target is None:
        return None
    size, old, new = (sizes.node_size(node) for node in (target, args[0], args[1]))
    most_count, most_kept = _replacements(size.high, old.low, new.high)
    if old.high == 0:
        least_count, least_kept = min(size.low + 1, MAX_UINT64), size.low
    elif old.high <= new.low:
        least_count, least_kept = 0, size.low
    else:
        least_count, least_kept = -(-size.low // old.high), 0
    result = Estimate(least_count, most_count).times(new).plus(Estimate(least_kept, most_kept))
    return size.scaled(2 * _TRAVERSAL), result


def _replacements(size: int, old: int, new: int) -> tuple[int, int]:
    """How often the shortest text can be replaced at most, and what is kept beside it."""
    if old == 0:
        return min(size + 1, MAX_UINT64), size
    return (0, size) if new <= old else (-(-size // old), 0)


def _split(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if target is None:
        return None
    size = sizes.node_size(target)
    limit = literal_integer(args[1].expr) if len(args) > 1 else None
    most = size.high if limit is None else limit % 2**64
    return size.scaled(2 * _TRAVERSAL), Estimate(0, most)


def _join(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if target is None:
        return None
    count, size = sizes.node_size(target), ZERO
    if target.type.params:
        item = sizes.path_size((*target.path, "@items")) if target.path else None
        size = count.times(item or UNKNOWN)
    if args:
        gaps = Estimate(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(sizes.node_size(args[0]).times(gaps))
    return size.scaled(_TRAVERSAL), size


def _find(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if target is None:
        return None
    size = sizes.node_size(target)
    text = size.plus(ONE).scaled(_TRAVERSAL)
    return text.times(sizes.node_size(args[0]).scaled(_REGEX)), Estimate(0, size.high)


def _ip(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if overload == "cidr_ip":
        return ONE, None
    return _argument_text(1)(sizes, target, args, overload)


def _contains_address(extra: bool) -> Rule:
    def rule(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
        cost = _ADDRESS.plus(_ADDRESS).scaled(_TRAVERSAL)
        if extra:
            cost = cost.plus(_ADDRESS.scaled(_TRAVERSAL)).plus(ONE)
        if overload.endswith("_string"):
            cost = cost.plus(sizes.node_size(args[0]).scaled(_TRAVERSAL))
        return cost, None

    return rule


def _validate(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    return sizes.node_size(args[0]).scaled(_TRAVERSAL).scaled(128 * _REGEX), None


def _constant(cost: int) -> Rule:
    return lambda sizes, target, args, overload: (fixed(cost), None)


def _selector(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    size = sizes.node_size(args[0])
    requirements = size.scaled(0.5).scaled(10 + 40)
    return fixed(10).plus(size.scaled(_TRAVERSAL)).plus(requirements), None


def _equals(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    """Values that are compared at once, however they are written."""
    if args[0].type != args[1].type:
        return None
    name = args[0].type.name
    if name == "kubernetes.NamedFormat":
        return Estimate(1, 64).scaled(_TRAVERSAL), None
    if name == "kubernetes.URL":
        size = args[1].size or ONE
        return Estimate(1, size.high).scaled(_TRAVERSAL), None
    is_ours = name.startswith(("kubernetes.", "net."))
    return (ONE, None) if is_ours else None


_BY_FUNCTION: dict[str, Rule] = {
    "check": _constant(350_000),
    "fieldSelector": _selector,
    "labelSelector": _selector,
    "url": _url,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _find,
    "findAll": _find,
    "ip": _ip,
    "ip.isCanonical": _argument_text(2),
    "containsIP": _contains_address(extra=False),
    "containsCIDR": _contains_address(extra=True),
    "validate": _validate,
    "_==_": _equals,
}
for _name in ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"):
    _BY_FUNCTION[_name] = _items
for _name in ("lowerAscii", "upperAscii", "substring", "trim"):
    _BY_FUNCTION[_name] = _receiver_text
for _name in ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"):
    _BY_FUNCTION[_name] = _argument_text(1)

# --- cel-go's own ----------------------------------------------------------------------------------------------------


def _format(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    return (_size(target).scaled(_TRAVERSAL), None) if target is not None else None


def _to_bytes(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    size = _size(args[0])
    return size.scaled(_TRAVERSAL), Estimate(size.low, size.high * 4 % 2**64)


def _to_text(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    size = _size(args[0])
    return size.scaled(_TRAVERSAL), Estimate(size.low // 4, size.high)


def _quote(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    size = _size(args[0])
    return size.scaled(_TRAVERSAL), Estimate(size.low + 2, (size.high * 2 + 2) % 2**64)


def _affix(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    return _size(args[0]).scaled(_TRAVERSAL), None


def _in_list(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    return _size(args[1]), None


def _matches(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if target is None:
        return None
    text = _size(target).plus(ONE).scaled(_TRAVERSAL)
    return text.times(_size(args[0]).scaled(_REGEX)), None


def _contains(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result | None:
    if target is None:
        return None
    return _size(target).scaled(_TRAVERSAL).times(_size(args[0]).scaled(_TRAVERSAL)), None


def _concatenate(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    size = _size(args[0]).plus(_size(args[1]))
    return (ONE if overload == "add_list" else size.scaled(_TRAVERSAL)), size


def _compare(sizes: Sizes, target: Node | None, args: list[Node], overload: str) -> Result:
    most = min(_size(args[0]).high, _size(args[1]).high)
    return Estimate(1 if most > 0 else 0, most).scaled(_TRAVERSAL), None


_STANDARD: dict[str, Rule] = {
    "string_format": _format,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_text,
    "strings_quote": _quote,
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    "add_string": _concatenate,
    "add_bytes": _concatenate,
    "add_list": _concatenate,
    "equals": _compare,
    "not_equals": _compare,
}
for _word in ("less", "greater", "less_equals", "greater_equals"):
    _STANDARD[f"{_word}_string"] = _STANDARD[f"{_word}_bytes"] = _compare
