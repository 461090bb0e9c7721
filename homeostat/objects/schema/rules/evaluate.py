"""Evaluates the rules of a schema (`x-kubernetes-validations`) on an object and its old version.

Every rule is compiled once; parts of the schema without rules are not walked. On an update a rule sees `oldSelf` where
the old value can be found: members and map values by name, items of list-maps by their keys, never the items of other
lists. A rule that uses `oldSelf` is skipped where there is none, unless it is declared optional. As in `explain.py`,
an update may keep a violation that was there before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from homeostat.cel import Budget, CostLimitError, EvaluationError, NoSuchOverloadError
from homeostat.objects.errors import Cause, are_enough, duplicate, forbidden, invalid, required
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.explain import is_same
from homeostat.objects.schema.list_types import identity
from homeostat.objects.schema.rules.program import RuleCompiler, RuleError, RuleProgram
from homeostat.objects.schema.schema import UNSET, Rule, Schema

_LONGEST_MESSAGE_BYTES = 5 * 1024
_SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"


class Rules:
    """The rules of one schema. Compiled at the first use; a rule that does not compile fails every object."""

    __slots__ = ("_plan", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._plan: _Plan | Any | None = UNSET

    def check(self, new: JsonObject, old: JsonObject | None = None, budget: Budget | None = None) -> list[Cause]:
        """The rules that the object violates; `old` is its previous version, on an update. The cost is taken from
        `budget`.
        """
        if self._plan is UNSET:
            self._plan = _plan_of(self.schema, is_root=True)
        if self._plan is None:
            return []
        run = _Run(budget)
        with suppress(_SpentError):
            run.visit(self._plan, new, UNSET if old is None else old, "", _changed)
        return run.causes


def check_default(schema: Schema, path: str, budget: Budget) -> list[Cause]:
    """The rules that the default of a schema violates as it is written, with nothing filled in."""
    plan = None if schema.default is UNSET else _plan_of(schema)
    if plan is None:
        return []
    run = _Run(budget)
    with suppress(_SpentError):
        run.visit(plan, schema.default, UNSET, path, _changed)
    return run.causes


class _Plan:
    """The rules of a node, and the paths to those below it."""

    __slots__ = ("additional", "items", "map_keys", "members", "programs", "type")

    def __init__(self, schema: Schema, *, is_root: bool) -> None:
        self.type = schema.type
        self.map_keys = schema.map_keys if schema.list_type == "map" else ()
        self.programs = _programs(schema, is_root=is_root) if schema.rules else []
        self.members = {
            name: below for name, member in schema.properties.items() if (below := _plan_of(member)) is not None
        }
        self.additional = _plan_of(schema.additional) if schema.additional is not None else None
        self.items = _plan_of(schema.items) if schema.items is not None else None


def _plan_of(schema: Schema, *, is_root: bool = False) -> _Plan | None:
    plan = _Plan(schema, is_root=is_root)
    return plan if plan.programs or plan.members or plan.additional or plan.items else None


def _programs(schema: Schema, *, is_root: bool) -> list[RuleProgram | RuleError]:
    compiler = RuleCompiler(schema, is_root=is_root)
    return [_compiled(compiler, rule) for rule in schema.rules]


def _compiled(compiler: RuleCompiler, rule: Rule) -> RuleProgram | RuleError:
    try:
        return compiler.compile(rule)
    except RuleError as error:
        return error


class _SpentError(Exception):
    """The budget of the object is used up, or enough causes were found; evaluation stops."""


def _changed() -> bool:
    return False


class _Run:
    """One walk: what is left of the budget, and the causes found."""

    __slots__ = ("budget", "causes")

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = Budget() if budget is None else budget
        self.causes: list[Cause] = []

    def visit(self, plan: _Plan, value: Json, old: Json, path: str, is_unchanged: Callable[[], bool]) -> None:
        """`is_unchanged`: whether the nearest enclosing value with a known old value is unchanged."""
        if value is None:
            return
        if old is not UNSET:
            is_unchanged = _remembered(value, old)
        for program in plan.programs:
            if are_enough(self.causes):
                raise _SpentError
            self._evaluate(program, plan.type, value, old, path, is_unchanged)
        if isinstance(value, dict):
            self._visit_members(plan, value, old, path, is_unchanged)
        elif isinstance(value, list) and plan.items is not None:
            before = _by_keys(old, plan.map_keys)
            for at, each in enumerate(value):
                was = before.get(_keys_of(each, plan.map_keys), UNSET) if before else UNSET
                self.visit(plan.items, each, was, f"{path}[{at}]", is_unchanged)

    def _visit_members(
        self, plan: _Plan, value: JsonObject, old: Json, path: str, is_unchanged: Callable[[], bool]
    ) -> None:
        before = old if isinstance(old, dict) else {}
        for name, member in plan.members.items():
            if name in value:
                below = f"{path}.{name}" if path else name
                self.visit(member, value[name], before.get(name, UNSET), below, is_unchanged)
        if plan.additional is not None:
            for name, each in value.items():
                self.visit(plan.additional, each, before.get(name, UNSET), f"{path}[{name}]", is_unchanged)

    def _evaluate(
        self,
        program: RuleProgram | RuleError,
        kind: str,
        value: Json,
        old: Json,
        path: str,
        is_unchanged: Callable[[], bool],
    ) -> None:
        if isinstance(program, RuleError):
            self.causes.append(invalid(path, kind, f"rule compile error: {program}"))
            return
        bindings = program.bindings(value, old)
        if bindings is None:
            return
        try:
            holds = program.condition.evaluate(bindings, self.budget)
        except CostLimitError as error:
            message = f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: "
            self.causes.append(invalid(path, kind, message + program.shown if self.budget.remaining > 0 else _SPENT))
            raise _SpentError from error
        except EvaluationError as error:
            self.causes.append(invalid(path, kind, _fault(error, program)))
            return
        if holds is True or (not program.uses_old_self and is_unchanged()):
            return
        self.causes.append(_cause(program, kind, path, self._message(program, bindings)))

    def _message(self, program: RuleProgram, bindings: dict[str, Any]) -> str:
        if program.message is not None:
            try:
                text = program.message.evaluate(bindings, self.budget)
            except (EvaluationError, CostLimitError):
                text = ""
            text = text.strip() if isinstance(text, str) else ""
            if text and "\n" not in text and len(text.encode(errors="replace")) <= _LONGEST_MESSAGE_BYTES:
                return str(text)
        message = program.rule.message.strip()
        return message or f"failed rule: {program.shown}"


def _remembered(value: Json, old: Json) -> Callable[[], bool]:
    known: list[bool] = []

    def is_unchanged() -> bool:
        if not known:
            known.append(is_same(value, old))
        return known[0]

    return is_unchanged


def _by_keys(old: Json, keys: tuple[str, ...]) -> dict[Json, Json]:
    return {_keys_of(each, keys): each for each in old} if keys and isinstance(old, list) else {}


def _keys_of(item: Json, keys: tuple[str, ...]) -> Json:
    return tuple([identity(item.get(key)) for key in keys]) if isinstance(item, dict) else identity(item)


def _fault(error: EvaluationError, program: RuleProgram) -> str:
    if isinstance(error, NoSuchOverloadError):
        message = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error}': {message}: {program.shown}"
    return f"{error} evaluating rule: {program.shown}"


def _cause(program: RuleProgram, kind: str, path: str, message: str) -> Cause:
    if program.field_path:
        path = f"{path}.{program.field_path}" if path else program.field_path
    match program.rule.reason:
        case "FieldValueForbidden":
            return forbidden(path, message)
        case "FieldValueRequired":
            return required(path, message)
        case "FieldValueDuplicate":
            return duplicate(path, kind)
    return invalid(path, kind, message)
