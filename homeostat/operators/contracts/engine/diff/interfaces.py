"""Compares interfaces: their types, ports, visibility and contracts. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.diff.change import Change, make_change
from homeostat.operators.contracts.engine.diff.openapi import diff_openapi_files
from homeostat.operators.contracts.engine.diff.service import diff_number
from homeostat.operators.contracts.engine.document.contract import Interface


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
