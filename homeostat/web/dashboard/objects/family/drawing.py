"""The owners and dependents of an object as boxes and arrows: owners on the left, dependents on the right. Pure.

At most `MOST_DRAWN` boxes are drawn. Of a larger tree, the dependents of one kind and owner become one box with their
number and their states, the largest such groups first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from homeostat.web.dashboard.html.components import many
from homeostat.web.dashboard.html.diagram import Box, Line, Place, draw
from homeostat.web.dashboard.html.markup import Markup
from homeostat.web.dashboard.objects.family.search import Related
from homeostat.web.dashboard.objects.family.state import State
from homeostat.web.dashboard.objects.family.tree import Branch
from homeostat.web.dashboard.objects.kinds import kind_path

MOST_DRAWN: Final = 200
"""Boxes of one drawing."""
_WORST: Final = ("bad", "warn", "gone", "busy", "wait", "plain", "good")
_WORDS: Final = {"bad": "failed", "gone": "deleting", "busy": "in progress", "wait": "waiting", "good": "good"}


class _Shown(NamedTuple):
    """A box of the drawing, and those that it owns."""

    key: str
    box: Box
    below: Sequence[_Shown] = ()


def drawing(
    root: Branch, owners: Sequence[tuple[Related, State]], states: Mapping[str, State], selector: str = ""
) -> Markup | None:
    """`owners` from the nearest to the farthest. None if there is too much to draw, even by kind."""
    folded = _folded_groups(root, MOST_DRAWN - len(owners))
    if folded is None:
        return None
    shown = _shown(root, states, folded, selector, is_here=True)
    for related, state in owners:
        shown = _Shown(related.uid, _box(related, state), (shown,))
    boxes: dict[str, Box] = {}
    lines: list[Line] = []
    places: dict[str, Place] = {}
    _lay_out(shown, 0, [0], boxes, lines, places)
    label = f"{many(sum(1 for _ in root.all()) - 1, 'dependent')} and {many(len(owners), 'owner')}"
    return draw(boxes, lines, places, title=f"Owners and dependents: {label}", label=label)


def _folded_groups(root: Branch, most: int) -> set[tuple[str, str]] | None:
    """The groups, by owner and kind, that become one box each."""
    count = sum(1 for _ in root.all()) + sum(1 for each in root.all() if each.further)
    groups: dict[tuple[str, str], list[Branch]] = {}
    for each in root.all():
        for one in each.below:
            groups.setdefault((each.related.uid, one.related.kind), []).append(one)
    folded: set[tuple[str, str]] = set()
    for key, members in sorted(groups.items(), key=lambda each: -len(each[1])):
        if count <= most:
            return folded
        if len(members) > 1:
            folded.add(key)
            # What is below a folded group is not drawn either; to count it twice only folds more.
            count -= sum(1 for member in members for _ in member.all()) - 1
    return folded if count <= most else None


def _shown(
    branch: Branch,
    states: Mapping[str, State],
    folded: set[tuple[str, str]],
    selector: str,
    *,
    is_here: bool = False,
) -> _Shown:
    owner = branch.related
    below: list[_Shown] = []
    groups: dict[str, list[Branch]] = {}
    for each in branch.below:
        groups.setdefault(each.related.kind, []).append(each)
    for kind, members in groups.items():
        if (owner.uid, kind) in folded:
            below.append(_fold(owner, members, states, selector))
        else:
            below += [_shown(each, states, folded, selector) for each in members]
    if branch.further:
        words = f"{branch.further:,} more"
        below.append(
            _Shown(f"{owner.uid}:more", Box(words, "not read", "plain", f"{words} dependents of {owner.name}"))
        )
    return _Shown(owner.uid, _box(owner, states.get(owner.uid, State()), is_here=is_here), below)


def _box(related: Related, state: State, *, is_here: bool = False) -> Box:
    note = f"{related.kind} · {state.word}" if state.word else related.kind
    words = f"{related.kind} {related.name}{': ' if state.word else ''}{state.word}"
    if is_here:
        return Box(related.name, note, state.look, f"{words}, this object", classes=("focus",))
    return Box(related.name, note, state.look, words, related.path)


def _fold(owner: Related, members: Sequence[Branch], states: Mapping[str, State], selector: str) -> _Shown:
    first = members[0].related
    looks = Counter(states.get(each.related.uid, State()).look for each in members)
    worst = next(each for each in _WORST if looks[each])
    note = ", ".join(f"{looks[each]:,} {_WORDS[each]}" for each in _WORST if looks[each] and each in _WORDS)
    path = ""
    if first.served is not None:
        labels = selector if first.kind in ("Pod", "ReplicaSet") else ""
        path = kind_path(first.served, namespace=first.namespace, labels=labels)
    name = f"{len(members):,} × {first.kind}"
    words = f"{len(members):,} {first.kind} objects of {owner.name}{': ' if note else ''}{note}"
    return _Shown(f"{owner.uid}:{first.kind}", Box(name, note or "folded", worst, words, path, ("folded",)))


def _lay_out(
    shown: _Shown,
    column: int,
    free: list[int],
    boxes: dict[str, Box],
    lines: list[Line],
    places: dict[str, Place],
) -> float:
    """Places a box in the middle of those that it owns, and returns its row. `free` holds the next empty row."""
    boxes[shown.key] = shown.box
    rows: list[float] = []
    for each in shown.below:
        rows.append(_lay_out(each, column + 1, free, boxes, lines, places))
        lines.append(Line(shown.key, each.key, f"{shown.box.name} owns {each.box.name}"))
    if rows:
        row = (rows[0] + rows[-1]) / 2
    else:
        row = float(free[0])
        free[0] += 1
    places[shown.key] = Place(column, row)
    return row
