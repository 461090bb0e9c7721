"""The dependents of an object as a tree of a bounded depth and size, and as nested lists. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.objects.family.search import DEEPEST, Related

MOST_LISTED: Final = 100
"""Dependents of one object that the list names."""
MOST_IN_TREE: Final = 500
"""Dependents that are shown in all."""


class Branch(NamedTuple):
    """`further` dependents are not in it."""

    related: Related
    below: Sequence[Branch] = ()
    further: int = 0

    def all(self) -> Iterator[Branch]:
        yield self
        for each in self.below:
            yield from each.all()


class Tree:
    """Each object is in it once, so a circle of owners ends."""

    def __init__(self, children: Mapping[str, Sequence[Related]], root: Related) -> None:
        self._children, self._seen, self._left = children, {root.uid}, MOST_IN_TREE

    def branch(self, related: Related, depth: int = 0) -> Branch:
        below = sorted(self._children.get(related.uid, ()), key=lambda each: (each.kind, each.name))
        fresh = list({each.uid: each for each in below if each.uid not in self._seen}.values())
        self._seen.update(each.uid for each in fresh)
        many = self._left if depth < DEEPEST else 0
        self._left -= len(fresh[:many])
        return Branch(related, [self.branch(each, depth + 1) for each in fresh[:many]], len(fresh[many:]))


def as_list(branch: Branch, *, is_here: bool = False) -> Markup:
    shown = [as_list(each) for each in branch.below[:MOST_LISTED]]
    further = len(branch.below[MOST_LISTED:]) + branch.further
    if further:
        shown.append(el("li", f"and {further:,} more", class_="quiet"))
    return el("li", label(branch.related, is_here=is_here), el("ul", shown) if shown else None)


def label(related: Related, *, is_here: bool = False) -> Markup:
    name: Node = el("a", related.name, href=related.path) if related.path else related.name
    state = "page" if is_here else None
    return el("span", related.kind, " ", name, class_="here" if is_here else None, aria_current=state)
