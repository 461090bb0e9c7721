"""Prints a plan as text, or as JSON and YAML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

import click
import msgspec

from homeostat.cli.console.failure import Failure, one_line
from homeostat.cli.plan.declared import FieldChange
from homeostat.cli.plan.plugins import Answer
from homeostat.cli.resource.state import changes_text
from homeostat.objects.errors import quoted
from homeostat.objects.json import Json, JsonObject

Change = Literal["create", "update", "unchanged", "refused"]
_MOST_LINES: Final = 40
_LONGEST_VALUE: Final = 200


class Planned(msgspec.Struct, frozen=True, omit_defaults=True):
    """The change of one object and the plan of its plugin; `error` if it would be refused."""

    title: str
    namespace: str = ""
    change: Change = "unchanged"
    fields: tuple[FieldChange, ...] = ()
    answer: Answer | None = None
    error: str = ""

    @property
    def is_amiss(self) -> bool:
        """The declaration is unchanged but the plan has changes: drift, or an apply that failed before."""
        plan = self.answer.plan if self.answer is not None else None
        return self.change == "unchanged" and plan is not None and plan.is_changed is True

    @property
    def may_change(self) -> bool:
        return self.change in ("create", "update") or (self.answer is not None and self.answer.may_change)


def report_of(planned: Iterable[Planned]) -> JsonObject:
    return {"planned": [_entry(each) for each in planned]}


def _entry(planned: Planned) -> JsonObject:
    entry: JsonObject = {"name": planned.title, "change": planned.change, "mayChange": planned.may_change}
    if planned.namespace:
        entry["namespace"] = planned.namespace
    if planned.fields:
        entry["fields"] = msgspec.to_builtins(planned.fields)
    if planned.error:
        entry["error"] = planned.error
    answer = planned.answer
    if answer is not None:
        entry["plugin"] = answer.plugin
        if answer.unknown:
            entry["unknown"] = answer.unknown
        if answer.plan is not None:
            changes = msgspec.to_builtins(answer.plan.changes)
            entry["plan"] = {"isChanged": answer.plan.is_changed, "changes": changes, "output": answer.plan.output}
    return entry


def print_plan(planned: Sequence[Planned]) -> None:
    for each in planned:
        click.echo(f"{each.title}: {each.change}{', but not as declared' if each.is_amiss else ''}")
        for line in _lines(each):
            click.echo(f"  {line}")
        if each.error:
            Failure(f"{each.title}: {each.error}").show()
    counts = Counter(each.change for each in planned)
    message = [f"{counts['create']} to create", f"{counts['update']} to update", f"{counts['unchanged']} unchanged"]
    rare = {"not as declared": sum(each.is_amiss for each in planned), "refused": counts["refused"]}
    click.echo(", ".join([*message, *(f"{count} {word}" for word, count in rare.items() if count)]))


def _lines(planned: Planned) -> Iterator[str]:
    for field in planned.fields:
        yield _field(field)
    answer = planned.answer
    if answer is None or answer.error:
        return
    if answer.unknown:
        yield f"{answer.plugin or 'no plugin'}: unknown: {one_line(answer.unknown)}"
    elif answer.plan is not None and not answer.plan.is_changed:
        yield f"{answer.plugin}: no changes"
    elif answer.plan is not None:
        yield f"{answer.plugin}: {changes_text(answer.plan.changes)}"
        lines = answer.plan.output.splitlines()
        yield from (f"  {one_line(line)}" for line in lines[:_MOST_LINES])
        if len(lines) > _MOST_LINES:
            yield f"  and {len(lines) - _MOST_LINES} more lines; -o yaml has them"


def _field(change: FieldChange) -> str:
    if change.before is msgspec.UNSET:
        return f"+ {change.field}: {_value(change.after)}{' (default)' if change.is_default else ''}"
    if change.after is msgspec.UNSET:
        return f"- {change.field}: {_value(change.before)}"
    return f"~ {change.field}: {_value(change.before)} -> {_value(change.after)}"


def _value(value: Json) -> str:
    text = quoted(value)
    return one_line(text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}...")
