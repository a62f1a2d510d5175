"""Estimates: what a rule may cost at worst, told from the schema before any object is seen.

kube-apiserver refuses rules whose estimate is too high; the arithmetic here is cel-go's and Kubernetes', so that a
definition passes or fails alike.
"""

from __future__ import annotations

from typing import NamedTuple

from kapstan.apiserver.schema.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select
from kapstan.apiserver.schema.cel.callcosts import call_estimate
from kapstan.apiserver.schema.cel.schematypes import SchemaType
from kapstan.apiserver.schema.cel.sizes import ONE, UNKNOWN, ZERO, Estimate, Node, fixed
from kapstan.apiserver.schema.cel.types import Type

__all__ = ("Estimator",)


class _Entries(NamedTuple):
    """Sizes of the keys and values of a list or map."""

    kind: str
    key: Estimate
    value: Estimate

    def union(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.kind, self.key.union(other.key), self.value.union(other.value))


class _Variable(NamedTuple):
    path: tuple[str, ...]
    size: Estimate | None
    entries: _Entries | None


class Estimator:
    """Estimates one expression over `self`, whose type is given; without one, nothing is known of sizes."""

    def __init__(self, root: SchemaType | None = None) -> None:
        self._root = root
        self._variables: dict[str, list[_Variable]] = {}
        self._paths: dict[int, tuple[str, ...]] = {}
        self._sizes: dict[int, Estimate] = {}
        self._entries: dict[int, _Entries] = {}

    def cost(self, expr: Expr) -> Estimate:
        """What evaluating the expression costs."""
        match expr:
            case Ident():
                variable = self._variable(expr.name)
                self._paths[id(expr)] = variable.path if variable is not None else (expr.name,)
                return ONE
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListExpr():
                return self._list(expr)
            case MapExpr():
                return self._map(expr)
            case Comprehension():
                return self._bind(expr) if expr.kind == "bind" else self._loop(expr)
        return ZERO

    # --- Sizes

    def path_size(self, path: tuple[str, ...]) -> Estimate | None:
        """The size that the schema allows at a path such as `self.ports.@items.name`."""
        current = self._root
        if not path or current is None:
            return None
        for name in path[1:]:
            if name == "@keys":
                return ZERO if current.element is not None and current.type.kind == "map" else None
            below = current.element if name in ("@items", "@values") else (current.fields or {}).get(name)
            if below is None:
                return None
            current = below
        return Estimate(0, current.max_elements)

    def size(self, expr: Expr) -> Estimate | None:
        """The size of a value, as far as it is known."""
        known = self._sizes.get(id(expr))
        if known is None:
            known = _literal_size(expr) or self.path_size(self._path(expr))
        if known is None and _is_scalar(expr.type):
            known = ONE
        if known is None and isinstance(expr, Ident) and (variable := self._variable(expr.name)) is not None:
            known = variable.size
        return known

    def node_size(self, node: Node) -> Estimate:
        """The size of an argument, from the text or from the schema."""
        return node.size or self.path_size(node.path) or UNKNOWN

    def _size_or_unknown(self, expr: Expr) -> Estimate:
        return self.size(expr) or UNKNOWN

    def _entry_sizes(self, expr: Expr) -> _Entries | None:
        found = self._entries.get(id(expr))
        if found is None and isinstance(expr, Ident) and (variable := self._variable(expr.name)) is not None:
            found = variable.entries
        return found

    def _path(self, expr: Expr) -> tuple[str, ...]:
        if isinstance(expr, Ident) and (variable := self._variable(expr.name)) is not None:
            return variable.path
        return self._paths.get(id(expr), ())

    def _variable(self, name: str) -> _Variable | None:
        stack = self._variables.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, variable: _Variable) -> None:
        self._variables.setdefault(name, []).append(variable)

    def _node(self, expr: Expr) -> Node:
        path = self._path(expr)
        return Node(expr, expr.type, () if path[:1] == ("@result",) else path, self.size(expr))

    # --- Expressions

    def _select(self, expr: Select) -> Estimate:
        cost = self.cost(expr.operand)
        if not expr.field:  # the name of a type
            return cost
        if expr.test_only:
            return cost
        if expr.operand.type.kind in ("map", "struct", "param"):
            cost = cost.plus(ONE)
        self._paths[id(expr)] = (*self._path(expr.operand), expr.field)
        return cost

    def _list(self, expr: ListExpr) -> Estimate:
        cost, sizes = fixed(10), []
        for element in expr.elements:
            cost = cost.plus(self.cost(element))
            sizes.append(self._size_or_unknown(element))
        self._entries[id(expr)] = _Entries("list", ONE, _spread(sizes))
        return cost

    def _map(self, expr: MapExpr) -> Estimate:
        cost, keys, values = fixed(30), [], []
        for entry in expr.entries:
            cost = cost.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            keys.append(self._size_or_unknown(entry.key))
            values.append(self._size_or_unknown(entry.value))
        self._entries[id(expr)] = _Entries("map", _spread(keys), _spread(values))
        return cost

    def _loop(self, expr: Comprehension) -> Estimate:
        cost = self.cost(expr.range).plus(self.cost(expr.initial))
        initial = _Variable(self._path(expr.initial), self.size(expr.initial), self._entry_sizes(expr.initial))
        self._push(expr.accumulator, initial)
        self._push_loop_variables(expr)
        step = self.cost(expr.condition).plus(self.cost(expr.step))
        for name in (expr.variable, expr.variable2):
            if name is not None:
                self._variables[name].pop()
        cost = cost.plus(self.cost(expr.result))
        self._variables[expr.accumulator].pop()
        count = self._size_or_unknown(expr.range)
        if isinstance(expr.initial, Literal):
            self._sizes[id(expr)] = self._size_or_unknown(expr.initial)
        else:
            self._sizes[id(expr)] = count
            if (entries := self._entry_sizes(expr.step)) is not None:
                self._entries[id(expr)] = entries
        return cost.plus(count.times(step))

    def _push_loop_variables(self, expr: Comprehension) -> None:
        path, entries = self._path(expr.range), self._entry_sizes(expr.range)
        is_list = (entries.kind if entries is not None else expr.range.type.kind) == "list"
        key_size = entries.key if entries is not None else None
        value_size = entries.value if entries is not None else None
        key = _Variable((*path, "@indices" if is_list else "@keys"), key_size, None)
        value = _Variable((*path, "@items" if is_list else "@values"), value_size, None)
        if expr.variable2 is not None:
            self._push(expr.variable, key)
            self._push(expr.variable2, value)
        else:
            self._push(expr.variable, value if is_list else key)

    def _bind(self, expr: Comprehension) -> Estimate:
        cost = self.cost(expr.range).plus(self.cost(expr.initial))
        bound = _Variable(self._path(expr.initial), self.size(expr.initial), self._entry_sizes(expr.initial))
        self._push(expr.accumulator, bound)
        cost = cost.plus(self.cost(expr.result))
        size, entries = self.size(expr.result), self._entry_sizes(expr.result)
        self._variables[expr.accumulator].pop()
        self._remember(expr, size, entries)
        return cost

    def _remember(self, expr: Expr, size: Estimate | None, entries: _Entries | None) -> None:
        if size is not None:
            self._sizes[id(expr)] = size
        if entries is not None:
            self._entries[id(expr)] = entries

    # --- Calls

    def _call(self, expr: Call) -> Estimate:
        if expr.function == "dyn":
            cost = ONE.plus(self.cost(expr.args[0]))
            self._remember(expr, self.size(expr.args[0]), self._entry_sizes(expr.args[0]))
            return cost
        costs = [self.cost(arg) for arg in expr.args]
        if expr.function in ("_&&_", "_||_"):
            return Estimate(costs[0].low, _sum(costs).high)
        if expr.function == "_?_:_":
            return self._conditional(expr, costs)
        nodes = [self._node(arg) for arg in expr.args]
        target_cost, target = ZERO, None
        if expr.target is not None:
            target_cost = self.cost(expr.target)
            target = self._node(expr.target)
        cost, result = self._overloads(expr, target, nodes)
        self._remember(expr, result if result is not None else self.size(expr), None)
        return target_cost.plus(cost).plus(_sum(costs))

    def _conditional(self, expr: Call, costs: list[Estimate]) -> Estimate:
        then, otherwise = expr.args[1], expr.args[2]
        entries = self._entry_sizes(then)
        joined = entries.union(self._entry_sizes(otherwise)) if entries is not None else None
        self._remember(expr, self._size_or_unknown(then).union(self._size_or_unknown(otherwise)), joined)
        return costs[0].plus(costs[1].union(costs[2]))

    def _overloads(self, expr: Call, target: Node | None, nodes: list[Node]) -> tuple[Estimate, Estimate | None]:
        """A range that covers all overloads that the call may have."""
        cost: Estimate | None = None
        result: Estimate | None = None
        for id_ in [overload.id for overload in expr.overloads] or [""]:
            estimate, size = call_estimate(self, expr.function, id_, target, nodes)
            cost = estimate if cost is None else cost.union(estimate)
            if size is not None:
                result = size if result is None else result.union(size)
            if id_ in ("index_list", "index_map"):
                entries = self._entry_sizes(expr.args[0])
                result = entries.value if entries is not None else None
                where = "@items" if id_ == "index_list" else "@values"
                self._paths[id(expr)] = (*self._path(expr.args[0]), where)
            if id_ in ("add_string", "add_bytes", "add_list"):
                self._join_entries(expr)
        return cost or ZERO, result

    def _join_entries(self, expr: Call) -> None:
        entries = self._entry_sizes(expr.args[0])
        joined = entries.union(self._entry_sizes(expr.args[1])) if entries is not None else None
        self._remember(expr, None, joined)


def _sum(costs: list[Estimate]) -> Estimate:
    total = ZERO
    for cost in costs:
        total = total.plus(cost)
    return total


def _spread(sizes: list[Estimate]) -> Estimate:
    if not sizes:
        return ZERO
    return Estimate(min(size.low for size in sizes), max(size.high for size in sizes))


def _literal_size(expr: Expr) -> Estimate | None:
    match expr:
        case Literal(value=str() | bytes() as value):
            return fixed(len(value))
        case Literal():
            return ONE
        case ListExpr():
            return fixed(len(expr.elements))
        case MapExpr():
            return fixed(len(expr.entries))
    return None


def _is_scalar(type: Type) -> bool:
    if type.is_optional:
        return _is_scalar(type.params[0])
    return type.kind in ("bool", "double", "duration", "int", "timestamp", "uint")
