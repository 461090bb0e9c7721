"""Compares the named parts of contracts: interfaces, configurations, policies and dependencies. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.diff.change import Change, make_change, text_kind
from homeostat.operators.contracts.engine.diff.json_diff import diff_schema_files, diff_values
from homeostat.operators.contracts.engine.diff.openapi import diff_openapi_files
from homeostat.operators.contracts.engine.diff.service import diff_number
from homeostat.operators.contracts.engine.document.contract import Contract, Interface
from homeostat.operators.contracts.engine.files import POLICY_FILE


def diff_interfaces(old: Bundle, new: Bundle) -> Iterator[Change]:
    before = {each.name: each for each in old.contract.interfaces}
    after = {each.name: each for each in new.contract.interfaces}
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield make_change("interfaces", "removed", name)
        elif name not in before:
            yield make_change("interfaces", "added", new=name)
        else:
            yield from _diff_interface(before[name], after[name], old, new)


def _diff_interface(before: Interface, after: Interface, old: Bundle, new: Bundle) -> Iterator[Change]:
    name = before.name
    if before.type != after.type:
        yield make_change("interfaces.type", "modified", f"{name}: {before.type}", f"{name}: {after.type}")
    yield from diff_number("interfaces.port", before.port, after.port)
    if before.visibility != after.visibility:
        values = (f"{name}: {before.visibility}", f"{name}: {after.visibility}")
        yield make_change("interfaces.visibility", "modified", *values)
    has_both = bool(before.contract and after.contract)
    if before.contract != after.contract:
        lead = f"{name}: " if has_both else ""
        yield make_change("interfaces.contract", "modified", lead + before.contract, lead + after.contract)
    if has_both:
        yield from diff_openapi_files((old.files, before.contract), (new.files, after.contract))


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


def diff_dependencies(old: Contract, new: Contract) -> Iterator[Change]:
    before = {each.name: each for each in old.dependencies}
    after = {each.name: each for each in new.dependencies}
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield make_change("dependencies", "removed", name)
        elif name not in before:
            yield make_change("dependencies", "added", new=name)
        else:
            previous, current = before[name], after[name]
            for field, was, now in (
                ("ref", previous.ref, current.ref),
                ("compatibility", previous.compatibility, current.compatibility),
                ("required", _required(previous.required), _required(current.required)),
            ):
                if was != now:
                    yield make_change(f"dependencies.{field}", "modified", f"{name}: {was}", f"{name}: {now}")


def _required(value: bool) -> str:
    return f"required={str(value).lower()}"
