"""Sets the defaults of a schema in an object.

The defaults of a schema are collected once into a plan that holds only the paths to them; a schema without defaults has
no plan. As in Kubernetes, a default that is an object is itself filled in, a missing object is
not created for a default inside it, and `null` is replaced where the schema does not allow it.
"""

from __future__ import annotations

from homeostat.objects.errors import TooLargeError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.schema import UNSET, Schema

MOST_ADDED = 100_000
"""The most values that defaults add to one object."""


class ManyDefaultsError(TooLargeError):
    """The defaults of a schema add too many values to an object."""


class _Plan:
    """The defaults of a node's members and the members on the way to further defaults."""

    __slots__ = ("additional", "defaults", "items", "members")

    def __init__(self) -> None:
        self.defaults: list[tuple[str, Json, bool]] = []
        self.members: dict[str, _Plan] = {}
        self.additional: tuple[Json, bool, _Plan | None] | None = None
        self.items: tuple[Json, bool, _Plan | None] | None = None


def apply_defaults(value: JsonObject, schema: Schema, *, most: int = MOST_ADDED) -> None:
    """Adds the defaults in place; doing it twice changes nothing.

    `ManyDefaultsError` if they add more than `most` values: a short definition whose defaults have defaults of their
    own could fill the memory from an empty object.
    """
    plan = schema.plan
    if plan is None:
        plan = schema.plan = _plan_of(schema) or False
    if plan:
        _Filler(most).fill_object(value, plan)


class _Filler:
    """Fills in one object, and counts the values that it adds."""

    __slots__ = ("_left", "_most")

    def __init__(self, most: int) -> None:
        self._left = self._most = most

    def fill_object(self, value: JsonObject, plan: _Plan) -> None:
        for key, default, nullable in plan.defaults:
            if key not in value or (value[key] is None and not nullable):
                value[key] = self._copy(default)
        for key, member in plan.members.items():
            child = value.get(key)
            if child.__class__ is dict:
                self.fill_object(child, member)
            elif child.__class__ is list:
                self._fill_list(child, member)
        if plan.additional is not None:
            self._fill_each(value, [key for key in value if key not in plan.members], plan.additional)

    def _fill_list(self, values: list[Json], plan: _Plan) -> None:
        if plan.items is not None:
            self._fill_each(values, range(len(values)), plan.items)

    def _fill_each(self, holder: Json, keys: Json, rule: tuple[Json, bool, _Plan | None]) -> None:
        default, nullable, plan = rule
        for key in keys:
            child = holder[key]
            if child is None and not nullable and default is not UNSET:
                child = holder[key] = self._copy(default)
            if plan is None:
                continue
            if child.__class__ is dict:
                self.fill_object(child, plan)
            elif child.__class__ is list:
                self._fill_list(child, plan)

    def _copy(self, value: Json) -> Json:
        self._left -= 1
        if self._left < 0:
            raise ManyDefaultsError(
                f"the defaults of the schema add more than {self._most} values to the object; "
                "send fewer items, or define fewer or smaller defaults"
            )
        if value.__class__ is dict:
            return {key: self._copy(each) for key, each in value.items()}
        if value.__class__ is list:
            return [self._copy(each) for each in value]
        return value


def _plan_of(schema: Schema) -> _Plan | None:
    """Schemas may be recursive, so this first finds the nodes that lead to a default, then builds a plan for each."""
    leading = _leading_to_defaults(schema)
    plans: dict[int, _Plan] = {node: _Plan() for node in leading}
    for node, one in leading.items():
        plan = plans[node]
        for name, member in one.properties.items():
            if member.default is not UNSET:
                plan.defaults.append((name, member.default, member.nullable))
            if id(member) in plans:
                plan.members[name] = plans[id(member)]
        if one.additional is not None:
            plan.additional = _rule_of(one.additional, plans)
        if one.items is not None:
            plan.items = _rule_of(one.items, plans)
    return plans.get(id(schema))


def _rule_of(node: Schema, plans: dict[int, _Plan]) -> tuple[Json, bool, _Plan | None] | None:
    plan = plans.get(id(node))
    return None if plan is None and node.default is UNSET else (node.default, node.nullable, plan)


def _leading_to_defaults(schema: Schema) -> dict[int, Schema]:
    nodes: dict[int, Schema] = {}
    parents: dict[int, list[Schema]] = {}
    waiting, found = [schema], []
    while waiting:
        node = waiting.pop()
        if id(node) in nodes:
            continue
        nodes[id(node)] = node
        for child in _children(node):
            parents.setdefault(id(child), []).append(node)
            waiting.append(child)
            if child.default is not UNSET:
                found.append(node)
    leading: dict[int, Schema] = {}
    while found:
        node = found.pop()
        if id(node) not in leading:
            leading[id(node)] = node
            found.extend(parents.get(id(node), ()))
    return leading


def _children(node: Schema) -> list[Schema]:
    children = list(node.properties.values())
    children.extend(each for each in (node.additional, node.items) if each is not None)
    return children
