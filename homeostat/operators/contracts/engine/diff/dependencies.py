"""Compares dependencies: their references, the versions that they accept, and whether they are required. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.operators.contracts.engine.diff.change import Change, make_change
from homeostat.operators.contracts.engine.document.contract import Contract


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
