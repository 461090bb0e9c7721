"""One rule of a schema, compiled: its condition, its message expression and the field that it reports."""

from __future__ import annotations

from typing import Any

import msgspec

from homeostat.cel import BOOL, STRING, CompileError, Environment, Optional, OptionalType, Program, Type
from homeostat.objects.crd.field_path import FieldPathError, resolve
from homeostat.objects.json import Json
from homeostat.objects.schema.rules.types import cel_type
from homeostat.objects.schema.schema import UNSET, Rule, Schema

_NONE = Optional(None, False)


class RuleError(ValueError):
    """A rule that does not compile; `field` is the member of the rule that is at fault."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class RuleProgram(msgspec.Struct, frozen=True):
    rule: Rule
    condition: Program
    message: Program | None
    field_path: str

    @property
    def uses_old_self(self) -> bool:
        return "oldSelf" in self.condition.uses

    @property
    def shown(self) -> str:
        """The rule as causes show it."""
        return self.rule.message.strip() or self.rule.rule.strip()

    def bindings(self, value: Json, old: Json) -> dict[str, Any] | None:
        """The variables of an evaluation; None if the rule needs an old value and there is none."""
        has_old = old is not UNSET and old is not None
        if self.rule.optional_old_self:
            return {"self": value, "oldSelf": Optional(old) if has_old else _NONE}
        if has_old:
            return {"self": value, "oldSelf": old}
        return None if self.uses_old_self else {"self": value}


class RuleCompiler:
    """Compiles the rules that stand at one node of a schema."""

    def __init__(self, schema: Schema, *, is_root: bool = False) -> None:
        self.schema = schema
        self.type: Type | None = cel_type(schema, is_root=is_root)

    def compile(self, rule: Rule) -> RuleProgram:
        """The compiled rule; `RuleError` if it is invalid here."""
        if self.type is None:
            kind, keeps = self.schema.type, "true" if self.schema.preserve_unknown else "false"
            message = "rule declared on schema that does not support validation rules"
            raise RuleError("rule", f"{message} type: '{kind}' x-kubernetes-preserve-unknown-fields: '{keeps}'")
        old = OptionalType(value=self.type) if rule.optional_old_self else self.type
        environment = Environment({"self": self.type, "oldSelf": old})
        condition = _program(environment, rule.rule, "rule")
        if condition.type != BOOL:
            raise RuleError("rule", "cel expression must evaluate to a bool")
        return RuleProgram(rule, condition, _message(environment, rule), self._field_path(rule))

    def _field_path(self, rule: Rule) -> str:
        try:
            return resolve(rule.field_path, self.schema)[0]
        except FieldPathError as error:
            raise RuleError("fieldPath", f"fieldPath must be a valid path: {error}") from error


def _message(environment: Environment, rule: Rule) -> Program | None:
    if not rule.message_expression:
        return None
    message = _program(environment, rule.message_expression, "messageExpression")
    if message.type != STRING:
        raise RuleError("messageExpression", "messageExpression must evaluate to a string")
    return message


def _program(environment: Environment, text: str, field: str) -> Program:
    try:
        return environment.compile(text)
    except CompileError as error:
        what = "compilation failed" if field == "rule" else "messageExpression compilation failed"
        raise RuleError(field, f"{what}: {error}") from error
