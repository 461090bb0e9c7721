"""The difference between two objects as pages show it: their YAML, line by line. Pure.

The objects themselves are compared, so that a hidden value may change: it is shown as `(hidden, changed)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final

import msgspec

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import Kind
from homeostat.objects.schema.passwords import NO_PASSWORDS, PasswordFields
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.redaction import HIDDEN
from homeostat.web.dashboard.objects.shown import as_yaml, has_hidden, shown_object

MOST_LINES: Final = 2000
"""Lines of each object that are compared, from the first to the last one that differs."""
QUICK_BYTES: Final = 4 * 1024
"""Of both objects. Lines that have much in common, in another order, take quadratic time: 20 KiB of them 0.1 s."""
CHANGED: Final = "(hidden, changed)"
_CONTEXT: Final = 3
_VOLATILE: Final = ("resourceVersion", "generation", "managedFields")
_encode = msgspec.json.Encoder(order="deterministic").encode


def difference(kind: Kind, before: JsonObject, after: JsonObject, passwords: PasswordFields = NO_PASSWORDS) -> Node:
    """None if they are the same. Versions, generations and managed fields are left out: they differ with each write."""
    before, after = _comparable(before), _comparable(after)
    if _encode(before) == _encode(after):
        return None
    was, now = (shown_object(kind, each, passwords) for each in (before, after))
    old, new = (as_yaml(each).splitlines() for each in (was, _changed(was, now, before, after)))
    if not before["metadata"]:
        # It is created: all of it is new.
        old = []
    start = max(0, _common(old, new) - _CONTEXT)
    old, new = old[start:], new[start:]
    end = max(0, _common(old[::-1], new[::-1]) - _CONTEXT)
    old, new = old[: len(old) - end], new[: len(new) - end]
    # A diff of long texts that have little in common takes quadratic time.
    left_out = max(0, len(old) - MOST_LINES) + max(0, len(new) - MOST_LINES)
    lines = _lines(old[:MOST_LINES], new[:MOST_LINES], start, is_cut=left_out > 0)
    if not lines:
        return el("p", "Only values that are not shown here change.", class_="summary")
    changes = el("div", map(_line, lines), class_="diff", role="group", aria_label="Changes", tabindex=0)
    note = f"The diff is too long: {left_out:,} further lines are not shown, and they may change as well."
    return [el("p", note, class_="trouble", role="alert") if left_out else None, changes]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _lines(old: Sequence[str], new: Sequence[str], start: int, *, is_cut: bool) -> list[str]:
    """A unified diff of texts that begin after `start` common lines."""
    matcher = SequenceMatcher(None, old, new)
    steps = matcher.get_opcodes()
    if is_cut and steps[-1][0] != "equal" and sum(each[0] != "equal" for each in steps) > 1:
        # What differs at the cut may be equal to a line beyond it.
        _, i, _, j, _ = steps[-1]
        matcher = SequenceMatcher(None, old[:i], new[:j])
    lines: list[str] = []
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        lines.append(f"@@ -{start + i1 + 1},{i2 - i1} +{start + j1 + 1},{j2 - j1} @@")
        for word, i1, i2, j1, j2 in group:
            if word == "equal":
                lines += [f" {each}" for each in old[i1:i2]]
                continue
            lines += [f"-{each}" for each in old[i1:i2]]
            lines += [f"+{each}" for each in new[j1:j2]]
    return lines


def _line(line: str) -> Markup:
    match line[:1]:
        case "+":
            return el("ins", line)
        case "-":
            return el("del", line)
        case "@":
            return el("span", line, class_="at")
    return el("span", line)


def _comparable(obj: JsonObject) -> JsonObject:
    metadata = {name: each for name, each in obj["metadata"].items() if name not in _VOLATILE}
    return {**obj, "metadata": metadata}


def _changed(was: Json, now: Json, old: Json, new: Json) -> Json:
    """The second shown object, in which a hidden value says that it changes."""
    match was, now, old, new:
        case dict(), dict(), dict(), dict():
            return {name: _changed(was.get(name), each, old.get(name), new.get(name)) for name, each in now.items()}
        case list(), list(), list(), list():
            keyed = [_by_name(each) for each in (was, now, old, new)]
            if all(len(by_name) == len(each) for by_name, each in zip(keyed, (was, now, old, new), strict=True)):
                befores, afters, olds, news = keyed
                return [_changed(befores.get(at), each, olds.get(at), news.get(at)) for at, each in afters.items()]
            if len(was) == len(now):
                return [_changed(*each) for each in zip(was, now, old, new, strict=True)]
        case str(), str(), _, _ if old != new and has_hidden(was) and has_hidden(now):
            if f"//{HIDDEN}@" not in now:
                return CHANGED
            return now.replace(f"//{HIDDEN}@", f"//{CHANGED}@") if was == now else now
    return now


def _by_name(items: Sequence[Json]) -> Mapping[str, Json]:
    """Empty if an item has no name, or two have the same."""
    named = {each["name"]: each for each in items if isinstance(each, dict) and isinstance(each.get("name"), str)}
    return named if len(named) == len(items) else {}
