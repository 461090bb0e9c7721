"""A difference as text and as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.json import Json, encode
from homeostat.operators.contracts.engine.diff.change import Change
from homeostat.operators.contracts.engine.diff.compare import Difference
from homeostat.operators.contracts.engine.diff.sbom import SbomChange, SbomDifference
from homeostat.operators.contracts.engine.graph.difference import render_difference

_NONE = "No changes detected."
_LONGEST_PLAIN = 1e21


def render_text(difference: Difference) -> str:
    lines = [f"Classification: {difference.classification}"]
    if not _has_any(difference):
        return "\n".join((*lines, _NONE)) + "\n"
    if difference.changes:
        lines += [f"Changes ({len(difference.changes)}):", *map(_line, difference.changes)]
    for each in difference.dependency_diffs:
        changes = each.changes or []
        lines += ["", f"Dependency {each.name} [{each.classification}] ({len(changes)}):", *map(_line, changes)]
        lines += _sbom_lines(each.sbom_diff)
    if tree := _tree(difference):
        lines += ["", "Dependency graph changes:", tree.rstrip("\n")]
    lines += _sbom_lines(difference.sbom_diff)
    return "\n".join(lines) + "\n"


def render_markdown(difference: Difference) -> str:
    lines = ["## Contract Diff", "", f"**Classification:** `{difference.classification}`", ""]
    if not _has_any(difference):
        return "\n".join((*lines, _NONE)) + "\n"
    if difference.changes:
        lines += [f"### Changes ({len(difference.changes)})", "", *_table(difference.changes), ""]
    for each in difference.dependency_diffs:
        lines += [f"### Dependency: {each.name} (`{each.classification}`)", ""]
        lines += [*_table(each.changes), ""] if each.changes else []
        if each.sbom_diff is not None and each.sbom_diff.changes:
            lines += [f"#### SBOM Changes: {each.name}", "", *_sbom_table(each.sbom_diff.changes), ""]
    if tree := _tree(difference):
        lines += ["### Dependency Graph Changes", "", "```", tree.rstrip("\n"), "```"]
    if difference.sbom_diff is not None and difference.sbom_diff.changes:
        lines += ["### SBOM Changes", "", *_sbom_table(difference.sbom_diff.changes), ""]
    return "\n".join(lines) + "\n"


def _has_any(difference: Difference) -> bool:
    has_sbom = difference.sbom_diff is not None and difference.sbom_diff.changes
    return bool(difference.changes or difference.dependency_diffs or _tree(difference) or has_sbom)


def _tree(difference: Difference) -> str:
    return "" if difference.graph_diff is None else render_difference(difference.graph_diff)


def _line(change: Change) -> str:
    return f"  [{change.classification}] {change.path} ({change.type}): {change.reason}{_values(change)}"


def _values(change: Change) -> str:
    old, new = _shown(change.old_value), _shown(change.new_value)
    match change.type:
        case "modified" if change.old_value is not None and change.new_value is not None:
            return f" [{old} -> {new}]"
        case "added" if change.new_value is not None:
            return f" [+ {new}]"
        case "removed" if change.old_value is not None:
            return f" [- {old}]"
    return ""


def _shown(value: Json) -> str:
    """Lists and maps as the original prints them, which scripts may compare."""
    if isinstance(value, list):
        return f"[{' '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_shown(value[key])}' for key in sorted(value))}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LONGEST_PLAIN:
        return str(int(value))
    return "<nil>" if value is None else value if isinstance(value, str) else encode(value).decode()


def _table(changes: list[Change]) -> Iterator[str]:
    yield "| Classification | Path | Type | Reason | Old | New |"
    yield "|---|---|---|---|---|---|"
    for each in changes:
        values = f"{_cell(each.old_value)} | {_cell(each.new_value)}"
        yield f"| {each.classification} | `{each.path}` | {each.type} | {each.reason} | {values} |"


def _cell(value: Json) -> str:
    return "" if value is None else f"`{_shown(value)}`"


def _sbom_lines(difference: SbomDifference | None) -> list[str]:
    if difference is None or not difference.changes:
        return []
    return ["", f"SBOM changes ({len(difference.changes)}):", *map(_sbom_line, difference.changes)]


def _sbom_line(change: SbomChange) -> str:
    if change.type == "added":
        return f"  + {change.package}@{change.new_value}"
    if change.type == "removed":
        return f"  - {change.package}@{change.old_value}"
    return f"  ~ {change.package} {change.field}: {change.old_value} -> {change.new_value}"


def _sbom_table(changes: list[SbomChange]) -> Iterator[str]:
    yield "| Package | Type | Field | Old | New |"
    yield "|---|---|---|---|---|"
    for each in changes:
        values = f"{_cell(each.old_value or None)} | {_cell(each.new_value or None)}"
        yield f"| `{each.package}` | {each.type} | {each.field} | {values} |"
