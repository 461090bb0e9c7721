"""Searches the owners and the dependents of an object, and their states.

A server does not know dependents, so they are searched among the metadata of all kinds of the namespace: the first
`MOST_SEARCHED` objects of each kind, and for workloads those with the labels of their selector. What was searched is
kept for some seconds, because the page reloads itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.edge.turn import map_concurrently
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.objects.family.state import State, state_of
from homeostat.web.dashboard.objects.kinds import ServedKinds, object_path
from homeostat.web.dashboard.objects.table import ACCEPT_METADATA, ListMetadata

MOST_SEARCHED: Final = 500
DEEPEST: Final = 10
"""Levels above an object, and levels below it, that are shown."""
_AT_ONCE: Final = 8
_WITHIN_S: Final = 1.5
_KEPT_S: Final = 10.0
_STATES_KEPT_S: Final = 3.0
_MOST_KEPT: Final = 32
_MOST_GETS: Final = 6
"""Objects of a kind that are read one by one; of more, the list of the kind is read."""
_LABELLED: Final = frozenset({"pods", "replicasets", "controllerrevisions"})
_UNOWNED: Final = frozenset({"events"})
_STATELESS: Final = frozenset(
    {"configmaps", "secrets", "serviceaccounts", "endpoints", "endpointslices", "controllerrevisions", "leases"}
    | {"roles", "rolebindings", "clusterroles", "clusterrolebindings", "networkpolicies", "limitranges"}
    | {"reconciliations", "runoutputs", "podtemplates"}
)
"""Plurals of kinds without a state; their objects may be large or secret, and are not read."""


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


class _StateMetadata(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    deletion_timestamp: str | None = None


class _StateItem(msgspec.Struct, frozen=True):
    """As much of an object as its state needs; what is not shown is not decoded further."""

    metadata: _StateMetadata = _StateMetadata()
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")

    def state(self, kind: str) -> State:
        spec, status = msgspec.json.decode(self.spec), msgspec.json.decode(self.status)
        metadata = {"deletionTimestamp": self.metadata.deletion_timestamp}
        return state_of(kind, {"metadata": metadata, "spec": spec, "status": status})


class _StateList(msgspec.Struct, frozen=True):
    items: list[_StateItem] | None = None


_list = msgspec.json.Decoder(_List)
_state_item = msgspec.json.Decoder(_StateItem)
_state_list = msgspec.json.Decoder(_StateList)
_UNREADABLE: Final = (ApiError, UnreachableError, msgspec.DecodeError)


class Related(NamedTuple):
    """An object in the tree; its path is empty if the server has no such kind, `served` is None then."""

    kind: str
    namespace: str
    name: str
    uid: str
    path: str
    served: Kind | None = None


class Searched(NamedTuple):
    """Dependents by the uid of their owner; `note` says what was not searched."""

    children: Mapping[str, Sequence[Related]]
    note: str = ""


T = TypeVar("T")


class _Kept(Generic[T]):
    """What was read for a client, for some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._known: WeakKeyDictionary[Client, dict[tuple[str, str], tuple[float, T]]] = WeakKeyDictionary()

    def get(self, client: Client, key: tuple[str, str]) -> T | None:
        until, found = self._known.get(client, {}).get(key, (0.0, None))
        return found if until > time.monotonic() else None

    def put(self, client: Client, key: tuple[str, str], found: T) -> T:
        known = self._known.setdefault(client, {})
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[key] = (time.monotonic() + self._seconds, found)
        return found


class Search:
    def __init__(self, kinds: ServedKinds) -> None:
        self._kinds = kinds
        self._searched, self._states = _Kept[Searched](_KEPT_S), _Kept[dict[str, State]](_STATES_KEPT_S)

    async def owners(self, client: Client, obj: JsonObject) -> list[tuple[Related, State]]:
        """From the nearest to the root; of several owners the controller."""
        found: list[tuple[Related, State]] = []
        namespace, references = obj["metadata"].get("namespace", ""), obj["metadata"].get("ownerReferences") or []
        while references and len(found) < DEEPEST:
            owner = next((each for each in references if each.get("controller")), references[0])
            kind_of = await self._kinds.named(str(owner.get("apiVersion")), str(owner.get("kind")))
            name, uid = str(owner.get("name")), str(owner.get("uid"))
            where = namespace if kind_of is not None and kind_of.is_namespaced else ""
            path = object_path(kind_of, where, name) if kind_of is not None else ""
            read = await _read(client, kind_of, where, name) if kind_of is not None else None
            state = state_of(str(owner.get("kind")), read) if read is not None else State()
            found.append((Related(str(owner.get("kind")), where, name, uid, path, kind_of), state))
            references = (read["metadata"].get("ownerReferences") or []) if read is not None else []
        return found

    async def dependents(self, client: Client, obj: JsonObject) -> Searched:
        key = obj["metadata"].get("namespace", ""), selector_of(obj)
        known = self._searched.get(client, key)
        return known if known is not None else self._searched.put(client, key, await self._search(client, *key))

    async def states(self, client: Client, obj: JsonObject, shown: Sequence[Related]) -> dict[str, State]:
        """By uid; an object that the visitor may not read has none."""
        key = str(obj["metadata"].get("uid", "")), ""
        known = self._states.get(client, key)
        if known is not None:
            return known
        by_kind: dict[Kind, list[Related]] = {}
        for each in shown:
            if each.served is not None and each.served.plural not in _STATELESS:
                by_kind.setdefault(each.served, []).append(each)
        states: dict[str, State] = {}
        selector = selector_of(obj)
        try:
            async with asyncio.timeout(_WITHIN_S):
                for kind, objects in by_kind.items():
                    states |= await _states_of(client, kind, objects, selector)
        except TimeoutError:
            pass
        return self._states.put(client, key, states)

    async def _search(self, client: Client, namespace: str, selector: str) -> Searched:
        chosen = [
            each
            for each in await self._kinds.listed()
            if (each.is_namespaced or not namespace) and each.plural not in _UNOWNED
        ]
        children: dict[str, list[Related]] = {}
        partly: list[str] = []

        async def search(kind: Kind) -> None:
            query = {"limit": MOST_SEARCHED, "labelSelector": selector if kind.plural in _LABELLED else ""}
            try:
                listed = _list.decode(await client.fetch("GET", kind.path(namespace), query, accept=ACCEPT_METADATA))
            except _UNREADABLE:
                # Who may not list a kind does not see its objects here.
                return
            if listed.metadata.token:
                partly.append(kind.plural)
            for each in listed.items or ():
                meta = each.metadata
                path = object_path(kind, meta.namespace, meta.name)
                for owner in meta.owner_references:
                    related = Related(kind.kind, meta.namespace, meta.name, meta.uid, path, kind)
                    children.setdefault(owner.uid, []).append(related)

        note = ""
        try:
            async with asyncio.timeout(_WITHIN_S):
                await map_concurrently(search, chosen, at_once=_AT_ONCE)
        except TimeoutError:
            note = f"The search for dependents ended after {_WITHIN_S:g} s; there may be more."
        if partly:
            note = (
                f"Searched at most the first {MOST_SEARCHED} objects of {', '.join(sorted(partly))}; there may be more."
            )
        return Searched(children, note)


async def _states_of(client: Client, kind: Kind, objects: Sequence[Related], selector: str) -> dict[str, State]:
    try:
        if len(objects) <= _MOST_GETS:
            answers = [await client.fetch("GET", kind.path(each.namespace, each.name)) for each in objects]
            return {item.metadata.uid: item.state(kind.kind) for item in map(_state_item.decode, answers)}
        query = {"limit": MOST_SEARCHED, "labelSelector": selector if kind.plural in _LABELLED else ""}
        listed = _state_list.decode(await client.fetch("GET", kind.path(objects[0].namespace), query)).items or ()
        wanted = {each.uid for each in objects}
        return {each.metadata.uid: each.state(kind.kind) for each in listed if each.metadata.uid in wanted}
    except _UNREADABLE:
        return {}


async def _read(client: Client, kind: Kind, namespace: str, name: str) -> JsonObject | None:
    try:
        return await client.get(kind.path(namespace, name))
    except (ApiError, UnreachableError):
        return None


def selector_of(obj: JsonObject) -> str:
    """The labels of the Pods of a workload."""
    spec = obj.get("spec")
    selector = spec.get("selector") if isinstance(spec, dict) else None
    labels = selector.get("matchLabels") if isinstance(selector, dict) else None
    if not isinstance(labels, dict):
        return ""
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
