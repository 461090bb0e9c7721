"""Validates an object against its schema: quickly if it is valid, with causes if it is not.

A `Validator` belongs to one schema and is compiled at its first use. Valid objects, nearly all of them, pass through
`jsonschema_rs` in a microsecond or two; for the others `explain.py` finds the causes. `names.py` validates `metadata`,
and `rules/` the rules in CEL.
"""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.errors import Cause
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.cost import CostPlan, cost_plan
from homeostat.objects.schema.explain import explain
from homeostat.objects.schema.json_schema import accepter
from homeostat.objects.schema.list_types import ListPlan, list_plan
from homeostat.objects.schema.schema import Schema

_MOST_UNINTERRUPTED = 500_000
"""Steps that the engine may take: it holds the interpreter lock for all of them, some 10 ms."""


class Validator:
    __slots__ = ("_accepts", "_costs", "_lists", "_may_take_long", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._accepts: Callable[[Json], bool] | None = None
        self._lists: ListPlan | None = None
        self._costs: CostPlan | None = None
        self._may_take_long = False

    def cost_of(self, value: JsonObject) -> int:
        """A bound of the steps that validating the object takes, beyond the walk over it."""
        if self._accepts is None:
            self._compile()
        return self._costs.estimate(value) if self._costs is not None else 0

    def check(self, value: JsonObject, *, is_large: bool = False) -> list[Cause]:
        """The causes for which the object is invalid; empty if it is valid. A large one may have texts that take long
        to match.
        """
        if self._accepted(value, is_large):
            return self._lists.duplicates(value) if self._lists is not None else []
        return explain(value, self.schema) + self._duplicates(value)

    def check_update(self, new: JsonObject, old: JsonObject, *, is_large: bool = False) -> list[Cause]:
        """As `check`, but accepts what was invalid before and did not change."""
        causes = [] if self._accepted(new, is_large) else explain(new, self.schema, old)
        repeated = self._duplicates(new)
        return causes if not repeated or self._duplicates(old) else causes + repeated

    def _duplicates(self, value: JsonObject) -> list[Cause]:
        return self._lists.duplicates(value) if self._lists is not None else []

    def _accepted(self, value: JsonObject, is_large: bool) -> bool:
        accepts = self._accepts or self._compile()
        if is_large and (self._may_take_long or (self._costs and self._costs.estimate(value) > _MOST_UNINTERRUPTED)):
            return False
        try:
            return accepts(value)
        except ValueError:
            # The slow walk can check values that the engine cannot take at all.
            return False

    def _compile(self) -> Callable[[Json], bool]:
        self._lists = list_plan(self.schema)
        self._costs = cost_plan(self.schema)
        try:
            accepts, self._may_take_long = accepter(self.schema)
        except ValueError:
            # A schema may be too large, or stored by an older version that took what the engine refuses: then every
            # object is walked.
            accepts = _walk_all
        self._accepts = accepts  # Last: another thread may compile as well, and takes this as the sign that all is set.
        return accepts


def _walk_all(_: Json) -> bool:
    return False
