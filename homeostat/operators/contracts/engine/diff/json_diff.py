"""Compares JSON values: schemas of configurations and policies, and configuration values. Pure.

Lists of strings are compared as sets, other lists by index. In a schema, a change of a `required` list is BREAKING, and
every other change is POTENTIAL_BREAKING.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.contracts.engine.diff.change import (
    BREAKING,
    NON_BREAKING,
    POTENTIAL_BREAKING,
    Change,
    Classification,
    Kind,
)
from homeostat.operators.contracts.engine.files import Files
from homeostat.operators.contracts.engine.schema.json_file import InvalidJsonError, read_json

Classify = Callable[[str], Classification]


def diff_schema_files(old: tuple[Files, str], new: tuple[Files, str]) -> list[Change]:
    """Compare two schema files; a file that is missing or not JSON has no differences: validation reports it."""
    (old_files, old_name), (new_files, new_name) = old, new
    if old_name not in old_files or new_name not in new_files:
        return []
    try:
        before, after = read_json(old_files[old_name]), read_json(new_files[new_name])
    except InvalidJsonError:
        return []
    return list(_diff("schema", before, after, _classify_schema))


def diff_values(path: str, old: JsonObject | None, new: JsonObject | None) -> list[Change]:
    """Compare configuration values, which consumers do not rely on."""
    return list(_diff(path, old or {}, new or {}, lambda _: NON_BREAKING))


def is_same(old: Json, new: Json) -> bool:
    """Return whether two JSON values are equal: 1 equals 1.0, and 1 does not equal true."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(is_same(item, new[key]) for key, item in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(is_same(a, b) for a, b in zip(old, new, strict=True))
    return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)


def _classify_schema(path: str) -> Classification:
    return BREAKING if path.endswith(".required") else POTENTIAL_BREAKING


def _diff(path: str, old: Json, new: Json, classify: Classify) -> Iterator[Change]:
    if is_same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _diff_maps(path, old, new, classify)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _diff_lists(path, old, new, classify)
    else:
        yield _change(path, "modified", classify(path), f"{path} changed", old, new)


def _diff_maps(path: str, old: JsonObject, new: JsonObject, classify: Classify) -> Iterator[Change]:
    for key in sorted(old.keys() | new.keys()):
        below = f"{path}.{key}"
        if key not in old:
            yield _change(below, "added", classify(below), f"{below} added", new=new[key])
        elif key not in new:
            yield _change(below, "removed", classify(below), f"{below} removed", old[key])
        else:
            yield from _diff(below, old[key], new[key], classify)


def _diff_lists(path: str, old: list[Json], new: list[Json], classify: Classify) -> Iterator[Change]:
    if all(isinstance(each, str) for each in old + new):
        before, after = set(old), set(new)
        for text in dict.fromkeys(new):
            if text not in before:
                yield _change(f"{path}[{text}]", "added", classify(path), f"{path} {text} added", new=text)
        for text in dict.fromkeys(old):
            if text not in after:
                yield _change(f"{path}[{text}]", "removed", classify(path), f"{path} {text} removed", text)
        return
    for place in range(max(len(old), len(new))):
        below = f"{path}[{place}]"
        if place >= len(old):
            yield _change(below, "added", classify(path), f"{below} added", new=new[place])
        elif place >= len(new):
            yield _change(below, "removed", classify(path), f"{below} removed", old[place])
        else:
            yield from _diff(below, old[place], new[place], classify)


def _change(
    path: str, kind: Kind, classification: Classification, reason: str, old: Json = None, new: Json = None
) -> Change:
    return Change(path=path, type=kind, old_value=old, new_value=new, classification=classification, reason=reason)
