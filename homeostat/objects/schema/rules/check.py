"""Checks that the rules of a new schema compile, are allowed at their place, and cannot cost too much.

This runs when a CustomResourceDefinition is written, after the rest of its schema was found valid. The cost is the most
that a rule can cost, times the most often that its place can occur in one object; sizes that the
schema does not limit are bounded by the size of a request. The language is only loaded for schemas that have rules.
"""

from __future__ import annotations

from homeostat.objects.errors import Cause, are_enough, forbidden, invalid
from homeostat.objects.schema.schema import Rule, Schema

RULE_LIMIT = 10_000_000
SCHEMA_LIMIT = 100_000_000


MAX_RULES = 5_000
"""The most rules of a schema: each takes a fraction of a millisecond to compile."""


def check_rules(schema: Schema, path: str) -> list[Cause]:
    if (count := _count_rules(schema)) > MAX_RULES:
        return [Cause("FieldValueTooMany", f"Too many: {count} validation rules: must have at most {MAX_RULES}", path)]
    check = _Check()
    check.visit(schema, path, _Place(is_root=True))
    if check.total > SCHEMA_LIMIT:
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        check.causes.append(forbidden(path, _exceeded(what, check.total, SCHEMA_LIMIT)))
    return check.causes


def _count_rules(node: Schema) -> int:
    below = [*node.properties.values(), *(each for each in (node.additional, node.items) if each is not None)]
    return len(node.rules) + sum(map(_count_rules, below))


class _Place:
    """Where in the schema a node stands."""

    __slots__ = ("is_root", "times", "uncorrelated")

    def __init__(self, *, uncorrelated: str = "", times: int | None = 1, is_root: bool = False) -> None:
        self.uncorrelated = uncorrelated
        """The enclosing list whose items cannot be matched with their old values."""
        self.times = times
        """How often the node can occur in one object; None if only the size of a request bounds it."""
        self.is_root = is_root

    def below(self, most: int | None, uncorrelated: str = "") -> _Place:
        times = None if most is None or self.times is None else self.times * most
        return _Place(uncorrelated=self.uncorrelated or uncorrelated, times=times)


class _Check:
    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self.total = 0

    def visit(self, node: Schema, path: str, place: _Place) -> None:
        for at, rule in enumerate(node.rules):
            if are_enough(self.causes):
                return
            self.check_rule(rule, node, f"{path}.x-kubernetes-validations[{at}]", place)
        for name, member in node.properties.items():
            self.visit(member, f"{path}.properties[{name}]", place.below(1))
        if node.additional is not None:
            below = place.below(node.constraints.get("maxProperties"))
            self.visit(node.additional, f"{path}.additionalProperties", below)
        if node.items is not None:
            below = place.below(node.constraints.get("maxItems"), "" if node.list_type == "map" else path)
            self.visit(node.items, f"{path}.items", below)

    def check_rule(self, rule: Rule, node: Schema, path: str, place: _Place) -> None:
        from homeostat.cel import ListType, size_limit
        from homeostat.objects.schema.rules.program import RuleCompiler, RuleError

        compiler = RuleCompiler(node, is_root=place.is_root)
        try:
            program = compiler.compile(rule)
        except RuleError as error:
            self.causes.append(invalid(f"{path}.{error.field}", rule.rule, str(error)))
            return
        times = place.times
        if times is None and compiler.type is not None:
            times = size_limit(ListType(element=compiler.type))
        cost = program.condition.estimated_cost * (times or 1)
        self.charge(cost, f"{path}.rule", "estimated rule cost")
        if program.message is not None:
            what = "estimated messageExpression cost"
            self.charge(program.message.estimated_cost, f"{path}.messageExpression", what)
        if program.uses_old_self and place.uncorrelated:
            message = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
            self.causes.append(invalid(f"{path}.rule", rule.rule, message))
        elif not program.uses_old_self and rule.optional_old_self is not None:
            message = "may not be set if oldSelf is not used in rule"
            self.causes.append(invalid(f"{path}.optionalOldSelf", rule.optional_old_self, message))

    def charge(self, cost: int, path: str, what: str) -> None:
        self.total += cost
        if cost > RULE_LIMIT:
            self.causes.append(forbidden(path, _exceeded(what, cost, RULE_LIMIT)))


def _exceeded(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    message = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    hint = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings"
    return f"{what} exceeds budget by factor of {message} ({hint} are declared)"
