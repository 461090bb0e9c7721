"""Compares what names a schema: configurations with their values, and policies. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.diff.change import Change, make_change, text_kind
from homeostat.operators.contracts.engine.diff.json_diff import diff_schema_files, diff_values
from homeostat.operators.contracts.engine.files import POLICY_FILE


class _Source(NamedTuple):
    name: str
    schema: str
    ref: str
    values: JsonObject | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.ref or self.schema}"


def diff_configurations(old: Bundle, new: Bundle) -> Iterator[Change]:
    before = [_Source(each.name, each.schema, each.ref, each.values) for each in old.contract.configurations]
    after = [_Source(each.name, each.schema, each.ref, each.values) for each in new.contract.configurations]
    yield from _diff_sources("configurations", before, after, old, new)


def diff_policies(old: Bundle, new: Bundle) -> Iterator[Change]:
    before = [_Source(each.name, each.schema, each.ref) for each in old.contract.policies]
    after = [_Source(each.name, each.schema, each.ref) for each in new.contract.policies]
    yield from _diff_sources("policies", before, after, old, new)
    if not before and not after:
        yield from _diff_provided_policy(old, new)


def _diff_sources(
    field: str, before: list[_Source], after: list[_Source], old: Bundle, new: Bundle
) -> Iterator[Change]:
    previous, current = {each.name: each for each in before}, {each.name: each for each in after}
    for name in sorted(previous.keys() | current.keys()):
        if name not in current:
            yield make_change(field, "removed", str(previous[name]))
        elif name not in previous:
            yield make_change(field, "added", new=str(current[name]))
        else:
            yield from _diff_source(field, previous[name], current[name], old, new)


def _diff_source(field: str, previous: _Source, current: _Source, old: Bundle, new: Bundle) -> Iterator[Change]:
    name = previous.name
    if previous.schema != current.schema:
        yield make_change(f"{field}.schema", "modified", f"{name}: {previous.schema}", f"{name}: {current.schema}")
    if previous.ref != current.ref:
        kind = text_kind(previous.ref, current.ref)
        yield make_change(f"{field}.ref", kind, f"{name}: {previous.ref}", f"{name}: {current.ref}")
    if previous.schema and current.schema:
        yield from diff_schema_files((old.files, previous.schema), (new.files, current.schema))
    yield from diff_values(f"{field}[{name}].values", previous.values, current.values)


def _diff_provided_policy(old: Bundle, new: Bundle) -> Iterator[Change]:
    """Compare the policy file of bundles that declare no policies: such a bundle provides a policy to others."""
    had, has = POLICY_FILE in old.files, POLICY_FILE in new.files
    if had and has:
        yield from diff_schema_files((old.files, POLICY_FILE), (new.files, POLICY_FILE))
    elif had:
        yield make_change(POLICY_FILE, "removed", POLICY_FILE)
    elif has:
        yield make_change(POLICY_FILE, "added", new=POLICY_FILE)
