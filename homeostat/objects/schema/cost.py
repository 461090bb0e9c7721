"""What validating an object costs, known before it is validated, and a budget that ends a costly validation.

The cost is a bound: for each value, the parts of the schema that have to be tried on it. Only some parts cost more than
the walk over the value itself: combinations (`anyOf` and the like, whose branches see the whole value below them),
long enumerations, heavy patterns and objects with many known members. A schema without them has no plan.
"""

from __future__ import annotations

from typing import Any

from homeostat.cel.regex import SLIGHT_WEIGHT, PatternError, compile_pattern
from homeostat.objects.json import Json
from homeostat.objects.schema.list_types import identity
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.schema import Schema

MOST_STEPS = 500_000
"""The most steps of one validation beyond the walk over the value: a second or two of a thread."""

_FEW = 16
_CHARACTERS_A_STEP = 16
_WEIGHT_STEPS = 2
"""Steps that a heavy pattern takes for sixteen characters, times its weight."""
_COMBINATIONS = ("allOf", "anyOf", "oneOf")


class TooComplexError(Exception):
    """A validation needs more steps than its budget has."""


class Validation:
    """One validation: the steps that are left, and what was prepared so far of combinations and enumerations."""

    __slots__ = ("_branches", "_known", "_remaining", "branch_depth")

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self._remaining = steps
        self.branch_depth = 0
        """How many combinations the walk is inside of: there, each value counts."""
        self._branches: dict[int, Schema] = {}
        self._known: dict[int, frozenset[Json]] = {}

    def spend(self, steps: int = 1) -> None:
        """`TooComplexError` if there are not so many steps left."""
        self._remaining -= steps
        if self._remaining < 0:
            raise TooComplexError

    def branch(self, raw: dict[str, Any]) -> Schema:
        """The schema of a branch, parsed once. The caller keeps `raw`, so that its identity stays its own."""
        found = self._branches.get(id(raw))
        if found is None:
            found = self._branches[id(raw)] = schema_of(raw)
        return found

    def known(self, values: list[Json]) -> frozenset[Json]:
        """The identities of the values of an enumeration. The caller keeps the list."""
        found = self._known.get(id(values))
        if found is None:
            found = self._known[id(values)] = frozenset(map(identity, values))
        return found


class CostPlan:
    """The parts of a schema below a node that cost extra."""

    __slots__ = ("additional", "for_each", "for_size", "items", "members")

    def __init__(self) -> None:
        self.for_each = 0
        """Steps for each value at this node."""
        self.for_size = 0
        """Steps for each value at or below this node, and for each 16 characters of a text."""
        self.members: dict[str, CostPlan] = {}
        self.additional: CostPlan | None = None
        self.items: CostPlan | None = None

    def estimate(self, value: Json) -> int:
        """An upper bound of the steps that validating the value takes beyond the walk over it."""
        cost = self.for_each
        if self.for_size:
            cost += self.for_size * _size_of(value)
        if value.__class__ is dict:
            for name, member in self.members.items():
                if name in value:
                    cost += member.estimate(value[name])
            if self.additional is not None:
                cost += sum(self.additional.estimate(each) for name, each in value.items() if name not in self.members)
        elif value.__class__ is list and self.items is not None:
            cost += sum(map(self.items.estimate, value))
        return cost


def cost_plan(schema: Schema) -> CostPlan | None:
    return _plan_of(schema, set())


def _plan_of(schema: Schema, above: set[int]) -> CostPlan | None:
    if id(schema) in above:
        return None  # Only built-in types refer to themselves, and they have no combinations.
    above.add(id(schema))
    plan = CostPlan()
    plan.for_each, plan.for_size = _own_cost(schema)
    for name, member in schema.properties.items():
        if (below := _plan_of(member, above)) is not None:
            plan.members[name] = below
    plan.additional = _plan_of(schema.additional, above) if schema.additional is not None else None
    plan.items = _plan_of(schema.items, above) if schema.items is not None else None
    above.discard(id(schema))
    costs = plan.for_each or plan.for_size or plan.members or plan.additional or plan.items
    return plan if costs else None


def _own_cost(schema: Schema) -> tuple[int, int]:
    known, members = len(schema.constraints.get("enum") or ()), len(schema.properties)
    for_each = (known if known > _FEW else 0) + (members if members > _FEW else 0)
    return for_each, pattern_steps(schema) + sum(map(_weight_of, _branches(schema)))


def pattern_steps(schema: Schema) -> int:
    """Steps for each 16 characters of a text at this node; 0 for a light pattern."""
    pattern = schema.constraints.get("pattern")
    if not pattern:
        return 0
    try:
        weight = compile_pattern(pattern).weight
    except PatternError:
        return 0
    return weight * _WEIGHT_STEPS if weight > SLIGHT_WEIGHT else 0


def _branches(schema: Schema) -> list[dict[str, Any]]:
    found = [each for word in _COMBINATIONS for each in schema.constraints.get(word) or ()]
    if "not" in schema.constraints:
        found.append(schema.constraints["not"])
    return [each for each in found if isinstance(each, dict)]


def _weight_of(raw: dict[str, Any]) -> int:
    """Steps that a branch takes for each value at or below the node of its combination."""
    return _whole_weight(schema_of(raw))


def _whole_weight(schema: Schema) -> int:
    for_each, for_size = _own_cost(schema)
    below = [*schema.properties.values(), *(each for each in (schema.additional, schema.items) if each is not None)]
    return 1 + for_each + for_size + sum(map(_whole_weight, below))


def _size_of(value: Json) -> int:
    if value.__class__ is str:
        return 1 + len(value) // _CHARACTERS_A_STEP
    if value.__class__ is dict:
        return 1 + sum(map(_size_of, value.values()))
    if value.__class__ is list:
        return 1 + sum(map(_size_of, value))
    return 1
