"""`/dashboard/objects/{group}/{plural}/{namespace}/{name}`: one object: its state, Events, owners, dependents, YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from homeostat.client.base import Client
from homeostat.objects.conditions import Condition
from homeostat.objects.errors import ForbiddenError, NotFoundError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import Kind
from homeostat.objects.meta import LAST_APPLIED
from homeostat.objects.schema.passwords import NO_PASSWORDS, PasswordFields
from homeostat.web.dashboard.finding import Subject
from homeostat.web.dashboard.html.command import command, shell
from homeostat.web.dashboard.html.components import chip, facts, many, message_text, moment, one_line
from homeostat.web.dashboard.html.conditions import conditions_table, look_of, unobserved
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.objects.access import may, may_read_logs
from homeostat.web.dashboard.objects.commands import command_lines, on_object
from homeostat.web.dashboard.objects.events import events_of
from homeostat.web.dashboard.objects.family.family import Family
from homeostat.web.dashboard.objects.family.state import MAIN, conditions_of
from homeostat.web.dashboard.objects.findings import Findings
from homeostat.web.dashboard.objects.index import TITLE
from homeostat.web.dashboard.objects.kinds import HERE, NO_NAMESPACE, ServedKinds, is_back, kind_path, object_path
from homeostat.web.dashboard.objects.large import LARGE_BYTES, LARGEST_SHOWN, Part, computed, size_of
from homeostat.web.dashboard.objects.rollback.revisions import is_rollable, undo_command
from homeostat.web.dashboard.objects.shown import as_yaml, shown_object
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.refusal import forbidden, unknown

_MOST_PAIRS: Final = 40
_LONGEST_PAIR: Final = 4000


class _Wanted(msgspec.Struct, frozen=True):
    version: Annotated[str, Meta(max_length=63)] = ""
    back: Annotated[str, Meta(max_length=1000)] = ""


class Place(NamedTuple):
    """The object that a page is about, and the client of the visitor."""

    kind: Kind
    namespace: str
    name: str
    client: Client
    version: str = ""
    """The one that the visitor chose; empty for the preferred one."""
    back: str = ""
    """The page that a change leads back to; empty for the page of the object."""
    passwords: PasswordFields = NO_PASSWORDS
    """The fields that the schema of the kind marks; they are not shown."""

    @property
    def path(self) -> str:
        return self.kind.path(self.namespace, self.name)

    def page(self, further: str = "") -> str:
        return object_path(self.kind, self.namespace, self.name, further, version=self.version)

    async def read(self) -> JsonObject:
        """`RefusalError` 404 or 403."""
        try:
            return await self.client.get(self.path)
        except NotFoundError as error:
            raise unknown(f"There is no {self.kind.kind} {self.title}. It may have been deleted.") from error
        except ForbiddenError as error:
            raise forbidden(error.message) from error

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


async def place_of(visit: Visit, own: Client, kinds: ServedKinds) -> Place:
    wanted = read_query(visit.request, _Wanted)
    captured = visit.captured
    kind = await kinds.find(captured["group"], captured["plural"], wanted.version)
    namespace = "" if captured["namespace"] == NO_NAMESPACE else captured["namespace"]
    if bool(namespace) != kind.is_namespaced:
        raise unknown(f"{kind.kind} is {'namespaced' if kind.is_namespaced else 'cluster-scoped'}.")
    back = wanted.back if is_back(wanted.back) else ""
    client, passwords = visit.client(own), await kinds.passwords_of(kind)
    return Place(kind, namespace, captured["name"], client, wanted.version, back, passwords)


def crumbs(place: Place, *, is_object_linked: bool = False) -> Markup:
    of_kind = kind_path(place.kind, version=place.version)
    links: list[Node] = [el("a", TITLE, href=HERE), " › ", el("a", place.kind.kind, href=of_kind)]
    if place.namespace:
        in_namespace = kind_path(place.kind, namespace=place.namespace, version=place.version)
        links += [" › ", el("a", place.namespace, href=in_namespace)]
    if is_object_linked:
        links += [" › ", el("a", place.name, href=place.page())]
    return el("p", links, class_="crumbs")


class ObjectPage:
    def __init__(self, client: Client, kinds: ServedKinds, findings: Findings) -> None:
        self._client, self._kinds, self._family, self._findings = client, kinds, Family(kinds), findings

    async def show(self, visit: Visit) -> Page:
        place = await place_of(visit, self._client, self._kinds)
        obj = await place.read()
        size, conditions = size_of(obj), conditions_of(obj)
        shown, text = await computed(visit, size, lambda: _shown(place, obj))
        content: list[Node] = [
            crumbs(place),
            el("div", _title(place, obj, conditions), await _choices(place), class_="title"),
            unobserved(obj["metadata"].get("generation"), _observed(obj), conditions),
            _facts(place, obj, shown, await self._about(obj)),
            await self._family.show(place.client, place.kind, obj),
            el(
                "div",
                el(
                    "div",
                    await self._findings.show(visit, Subject(place.kind, place.namespace, place.name, obj)),
                    conditions_table(conditions),
                    await events_of(place.client, place.namespace, str(obj["metadata"].get("uid", ""))),
                ),
                el("div", text),
                class_="object",
            ),
        ]
        return Page(f"{place.name} · {place.kind.kind}", content, TITLE, is_live=size <= LARGE_BYTES)

    async def _about(self, obj: JsonObject) -> Node:
        """The object that an Event is about, linked; None for other objects."""
        found = obj.get("involvedObject") if obj.get("kind") == "Event" else None
        found = obj.get("regarding") if found is None and obj.get("kind") == "Event" else found
        if not isinstance(found, dict):
            return None
        version, kind, namespace, name = (
            str(found.get(each) or "") for each in ("apiVersion", "kind", "namespace", "name")
        )
        path = await self._kinds.path_of(version, kind, namespace, name)
        return el("a", f"{kind} {name}", href=path) if path and name else f"{kind} {name}"


def _observed(obj: JsonObject) -> Json:
    status = obj.get("status")
    return status.get("observedGeneration") if isinstance(status, dict) else None


def _title(place: Place, obj: JsonObject, conditions: list[Condition]) -> Markup:
    ready = next((each for type_ in MAIN for each in conditions if each.type == type_), None)
    state: Node = None
    if obj["metadata"].get("deletionTimestamp"):
        state = chip("deleting", "phase-deleting")
    elif ready is not None:
        word = ready.type.lower() if ready.status == "True" else ready.reason or f"not {ready.type.lower()}"
        look = "bad" if (ready.type, ready.status) == ("Failed", "True") else look_of(ready)
        state = chip(one_line(word), look)
    said = message_text(ready.message, "message") if ready is not None and ready.message else None
    return el("div", el("h1", place.name, " ", state), said)


async def _choices(place: Place) -> Markup:
    """Each with the command that does the same; who may not act sees no button."""
    of = (place.kind, place.namespace, place.name)
    rows: list[Markup] = []
    if {"patch", "get"} <= place.kind.verbs and await may(place.client, "patch", *of):
        edit = el("a", "Edit", href=place.page("edit"), class_="button")
        rows.append(el("div", command(on_object("edit", *of)), edit))
        if is_rollable(place.kind):
            back = el("a", "Roll back", href=place.page("rollback"), class_="button")
            rows.append(el("div", command(undo_command(*of)), back))
    if "delete" in place.kind.verbs and await may(place.client, "delete", *of):
        delete = el("a", "Delete", href=place.page("delete"), class_="button danger")
        rows.append(el("div", command(on_object("delete", *of)), delete))
    if await may_read_logs(place.client, *of):
        follow = shell("kubectl", "logs", place.name, "-n", place.namespace, "--tail=500")
        rows.insert(0, el("div", command(follow), el("a", "Logs", href=place.page("logs"), class_="button")))
    rows.append(el("div", command(on_object("describe", *of))))
    return el("div", rows, class_="choices")


def _facts(place: Place, obj: JsonObject, shown: JsonObject, about: Node) -> Markup:
    metadata, observed = obj["metadata"], _observed(obj)
    generation = metadata.get("generation")
    seen = f"{generation}, observed {observed}" if observed is not None else generation
    deleted = metadata.get("deletionTimestamp")
    return facts(
        ("Kind", f"{place.kind.kind} ({place.kind.api_version})"),
        ("About", about),
        ("Namespace", place.namespace),
        ("Created", moment(metadata.get("creationTimestamp"))),
        ("Deleted", [moment(deleted), ", waiting for its finalizers"] if deleted else ""),
        ("Generation", seen if generation else ""),
        ("Finalizers", ", ".join(map(str, metadata.get("finalizers") or ()))),
        ("UID", el("code", str(metadata.get("uid", "")))),
        wide=(("Labels", _labels(place, metadata.get("labels"))), ("Annotations", _pairs(_annotations(shown)))),
    )


def _annotations(shown: JsonObject) -> Json:
    found = shown["metadata"].get("annotations")
    return {name: each for name, each in found.items() if name != LAST_APPLIED} if isinstance(found, dict) else None


def _labels(place: Place, labels: Json) -> Node:
    """Each leads to the objects of the kind that have it."""
    if not isinstance(labels, Mapping) or not labels:
        return ""
    pairs = [f"{name}={value}" for name, value in list(labels.items())[:_MOST_PAIRS]]
    query = {"namespace": place.namespace, "version": place.version}
    links = (el("a", each, href=kind_path(place.kind, labels=each, **query)) for each in pairs)
    return el("ul", [el("li", each) for each in links], class_="pairs")


def _pairs(pairs: Json) -> Node:
    if not isinstance(pairs, Mapping) or not pairs:
        return ""
    shown = [el("li", one_line(f"{name}={value}"[:_LONGEST_PAIR])) for name, value in list(pairs.items())[:_MOST_PAIRS]]
    return el("ul", shown, class_="pairs")


def _shown(place: Place, obj: JsonObject) -> tuple[JsonObject, Markup]:
    """The object without secrets, and its YAML."""
    shown = shown_object(place.kind, obj, place.passwords)
    managed = obj["metadata"].get("managedFields")
    folded = (
        el(
            "details",
            el("summary", f"Managed fields of {many(len(managed), 'manager')}"),
            _block(managed),
            class_="fold",
            id="managed",
        )
        if isinstance(managed, list) and managed
        else None
    )
    commands = command_lines(on_object("get", place.kind, place.namespace, place.name, "-o", "yaml"))
    head = el("div", el("h2", "YAML"), commands, class_="heading")
    return shown, el("section", head, _block(shown), folded)


def _block(value: Json) -> Node:
    part = Part(value)
    text = as_yaml(part.value).rstrip("\n")
    is_cut = part.is_cut or len(text) > LARGEST_SHOWN
    note = f"This object is large. The first {LARGEST_SHOWN // 1024} KiB are shown; the command prints all of it."
    return [
        el("p", note, class_="summary") if is_cut else None,
        el("pre", text[:LARGEST_SHOWN], class_="value", tabindex=0),
    ]
