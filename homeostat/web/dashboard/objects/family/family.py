"""The owners and dependents of an object: drawn, and as a list."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.components import chip
from homeostat.web.dashboard.html.diagram import zoom
from homeostat.web.dashboard.html.markup import Node, el
from homeostat.web.dashboard.objects.family.drawing import drawing
from homeostat.web.dashboard.objects.family.search import Related, Search, selector_of
from homeostat.web.dashboard.objects.family.state import state_of
from homeostat.web.dashboard.objects.family.tree import Branch, Tree, as_list, label
from homeostat.web.dashboard.objects.kinds import ServedKinds

_LEGEND = (("good", "good"), ("phase-reconciling", "in progress"), ("bad", "failed"), ("phase-pending", "waiting"))


class Family:
    def __init__(self, kinds: ServedKinds) -> None:
        self._search = Search(kinds)

    async def show(self, client: Client, kind: Kind, obj: JsonObject) -> Node:
        """None for an object that is alone."""
        owners = await self._search.owners(client, obj)
        searched = await self._search.dependents(client, obj)
        metadata = obj["metadata"]
        here = Related(kind.kind, metadata.get("namespace", ""), metadata["name"], metadata.get("uid", ""), "")
        root = Tree(searched.children, here).branch(here)
        if not owners and not root.below:
            return None
        states = await self._search.states(client, obj, [each.related for each in root.all()])
        picture = drawing(root, owners, {**states, here.uid: state_of(kind.kind, obj)}, selector_of(obj))
        listed = _list(root, [owner for owner, _ in owners])
        note = el("p", searched.note, class_="summary") if searched.note else None
        return el("section", el("h2", "Owners and dependents"), _figure(picture, listed), note, class_="family")


def _list(root: Branch, owners: list[Related]) -> Node:
    inside = as_list(root, is_here=True)
    for owner in owners:
        inside = el("li", label(owner), el("ul", inside))
    return el("ul", inside, class_="tree")


def _figure(picture: Node, listed: Node) -> Node:
    """The list alone if there is too much to draw."""
    if picture is None:
        return listed
    name = "Owners and dependents, drawn"
    scroll = el("div", picture, class_="scroll graph", role="region", aria_label=name, tabindex=0)
    legend = [chip(word, look) for look, word in _LEGEND]
    whole = el("details", el("summary", "As a list"), listed, class_="fold", id="family-list")
    return el("figure", scroll, el("figcaption", zoom(), legend), whole, class_="drawn")
