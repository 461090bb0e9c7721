"""Owners and dependents of an object as a tree.

A server does not know dependents, so they are searched among the metadata of all kinds of the namespace: the first
`MOST_SEARCHED` objects of each kind, and for workloads those with the labels of their selector. What was searched is
kept for some seconds, because the page reloads itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.objects.kinds import ServedKinds, object_path
from homeostat.web.dashboard.objects.table import ACCEPT_METADATA, ListMetadata

MOST_SEARCHED: Final = 500
MOST_SHOWN: Final = 100
"""Dependents of one object that are shown."""
MOST_IN_TREE: Final = 500
"""Dependents that are shown in all."""
_DEEPEST: Final = 10
"""Levels above an object, and levels below it, that are shown."""
_AT_ONCE: Final = 8
_WITHIN_S: Final = 1.5
_KEPT_S: Final = 10.0
_MOST_KEPT: Final = 32
_LABELLED: Final = frozenset({"pods", "replicasets", "controllerrevisions"})
_UNOWNED: Final = frozenset({"events"})


class Reference(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    owner_references: tuple[Reference, ...] = ()


class _Item(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


class _List(msgspec.Struct, frozen=True):
    items: list[_Item] | None = None
    metadata: ListMetadata = ListMetadata()


_list = msgspec.json.Decoder(_List)
_references = msgspec.json.Decoder(tuple[Reference, ...])


class Related(NamedTuple):
    """An object in the tree; its path is empty if the server has no such kind."""

    kind: str
    namespace: str
    name: str
    uid: str
    path: str


class Searched(NamedTuple):
    """Dependents by the uid of their owner; `note` says what was not searched."""

    children: Mapping[str, Sequence[Related]]
    note: str = ""


class Family:
    def __init__(self, kinds: ServedKinds) -> None:
        self._kinds = kinds
        self._kept: WeakKeyDictionary[Client, dict[tuple[str, str], tuple[float, Searched]]] = WeakKeyDictionary()

    async def show(self, client: Client, kind: Kind, obj: JsonObject) -> Node:
        """None for an object that is alone."""
        above = await self._owners(client, kind, obj)
        searched = await self._searched(client, kind, obj)
        metadata = obj["metadata"]
        here = Related(kind.kind, metadata.get("namespace", ""), metadata["name"], metadata.get("uid", ""), "")
        if not above and not searched.children.get(here.uid):
            return None
        inside = Tree(searched.children, here).branch(here, is_here=True)
        for owner in above:
            inside = el("li", _label(owner), el("ul", inside))
        note = el("p", searched.note, class_="summary") if searched.note else None
        return el("section", el("h2", "Owners and dependents"), el("ul", inside, class_="tree"), note)

    async def _owners(self, client: Client, kind: Kind, obj: JsonObject) -> list[Related]:
        """From the nearest to the root; of several owners the controller."""
        found: list[Related] = []
        namespace, references = obj["metadata"].get("namespace", ""), obj["metadata"].get("ownerReferences") or []
        while references and len(found) < _DEEPEST:
            owner = next((each for each in references if each.get("controller")), references[0])
            kind_of = await self._kinds.named(str(owner.get("apiVersion")), str(owner.get("kind")))
            name, uid = str(owner.get("name")), str(owner.get("uid"))
            where = namespace if kind_of is not None and kind_of.is_namespaced else ""
            path = object_path(kind_of, where, name) if kind_of is not None else ""
            found.append(Related(str(owner.get("kind")), where, name, uid, path))
            references = await _references_of(client, kind_of, where, name) if kind_of is not None else []
        return found

    async def _searched(self, client: Client, kind: Kind, obj: JsonObject) -> Searched:
        namespace, selector = obj["metadata"].get("namespace", ""), _selector(obj)
        known, now = self._kept.setdefault(client, {}), time.monotonic()
        until, found = known.get((namespace, selector), (0.0, Searched({})))
        if until > now:
            return found
        found = await self._search(client, namespace, selector)
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[namespace, selector] = (time.monotonic() + _KEPT_S, found)
        return found

    async def _search(self, client: Client, namespace: str, selector: str) -> Searched:
        chosen = [
            each
            for each in await self._kinds.listed()
            if (each.is_namespaced or not namespace) and each.plural not in _UNOWNED
        ]
        children: dict[str, list[Related]] = {}
        partly: list[str] = []
        slots = asyncio.Semaphore(_AT_ONCE)

        async def search(kind: Kind) -> None:
            query = {"limit": MOST_SEARCHED, "labelSelector": selector if kind.plural in _LABELLED else ""}
            async with slots:
                try:
                    answer = await client.fetch("GET", kind.path(namespace), query, accept=ACCEPT_METADATA)
                    listed = _list.decode(answer)
                except (ApiError, UnreachableError, msgspec.DecodeError):
                    # Who may not list a kind does not see its objects here.
                    return
            if listed.metadata.token:
                partly.append(kind.plural)
            for each in listed.items or ():
                meta = each.metadata
                path = object_path(kind, meta.namespace, meta.name)
                for owner in meta.owner_references:
                    related = Related(kind.kind, meta.namespace, meta.name, meta.uid, path)
                    children.setdefault(owner.uid, []).append(related)

        note = ""
        try:
            async with asyncio.timeout(_WITHIN_S), asyncio.TaskGroup() as tasks:
                for each in chosen:
                    tasks.create_task(search(each))
        except TimeoutError:
            note = f"The search for dependents ended after {_WITHIN_S:g} s; there may be more."
        if partly:
            note = (
                f"Searched at most the first {MOST_SEARCHED} objects of {', '.join(sorted(partly))}; there may be more."
            )
        return Searched(children, note)


async def _references_of(client: Client, kind: Kind, namespace: str, name: str) -> list[Json]:
    try:
        owner = await client.get(kind.path(namespace, name))
    except (ApiError, UnreachableError):
        return []
    return owner["metadata"].get("ownerReferences") or []


def _selector(obj: JsonObject) -> str:
    """The labels of the Pods of a workload."""
    spec = obj.get("spec")
    selector = spec.get("selector") if isinstance(spec, dict) else None
    labels = selector.get("matchLabels") if isinstance(selector, dict) else None
    if not isinstance(labels, dict):
        return ""
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


class Tree:
    """Dependents to a bounded depth and number. Each object is shown once, so a circle of owners ends."""

    def __init__(self, children: Mapping[str, Sequence[Related]], root: Related) -> None:
        self._children, self._seen, self._left = children, {root.uid}, MOST_IN_TREE

    def branch(self, related: Related, depth: int = 0, *, is_here: bool = False) -> Markup:
        below = sorted(self._children.get(related.uid, ()), key=lambda each: (each.kind, each.name))
        fresh = list({each.uid: each for each in below if each.uid not in self._seen}.values())
        self._seen.update(each.uid for each in fresh)
        many = min(MOST_SHOWN, self._left) if depth < _DEEPEST else 0
        self._left -= len(fresh[:many])
        shown = [self.branch(each, depth + 1) for each in fresh[:many]]
        if len(fresh) > many:
            shown.append(el("li", f"and {len(fresh) - many:,} more", class_="quiet"))
        return el("li", _label(related, is_here=is_here), el("ul", shown) if shown else None)


def _label(related: Related, *, is_here: bool = False) -> Markup:
    name: Node = el("a", related.name, href=related.path) if related.path else related.name
    state = "page" if is_here else None
    return el("span", related.kind, " ", name, class_="here" if is_here else None, aria_current=state)
