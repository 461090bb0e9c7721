"""`/dashboard/resources/{id}`: one resource with its spec, status and history, and buttons to run, pause and resume it.

The page of a deleted resource shows its history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from homeostat.objects.conditions import PAUSED, is_true
from homeostat.objects.declared import Metadata
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import Json, JsonObject, decode_stored
from homeostat.operators.actions.api import DEGRADED, REQUESTED, Reconciliation, Resource, ResourceStatus
from homeostat.operators.actions.conditions import current_message
from homeostat.operators.actions.runs.last_output import last_output
from homeostat.operators.actions.runs.run import Run
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.web.actions.bodies import plugin_of
from homeostat.web.actions.cancel import cancel_run
from homeostat.web.actions.dashboard.history import changes_text, history, printed, run_phases, timeline
from homeostat.web.actions.dashboard.types import type_title
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.entry import phase_of
from homeostat.web.actions.index.lookup import Found, find_numbered, no_resource
from homeostat.web.actions.pages.history import History
from homeostat.web.dashboard.form import read_form
from homeostat.web.dashboard.html.command import Action, actions, shell
from homeostat.web.dashboard.html.components import (
    chip,
    facts,
    many,
    message_text,
    moment,
    phase_chip,
    value_block,
)
from homeostat.web.dashboard.html.conditions import conditions_table, unobserved
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el, link
from homeostat.web.dashboard.html.redaction import without_credentials, without_secrets
from homeostat.web.dashboard.link import edit_action, object_link
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_number, read_query
from homeostat.web.kit.refusal import RefusalError

SHOWN_ENTRIES: Final = 20
MOST_ENTRIES: Final = 200


class Depth(msgspec.Struct, frozen=True):
    """How many history entries to show."""

    history: Annotated[int, Meta(ge=1, le=MOST_ENTRIES)] = SHOWN_ENTRIES


class ResourcePage:
    def __init__(self, face: Face) -> None:
        self._face, self._history = face, History(face)

    async def show(self, visit: Visit) -> Page:
        number, depth = read_number(visit.captured, "id"), read_query(visit.request, Depth).history
        # One more than shown, to know whether there are more.
        entries = await self._history.read(visit.caller, number, depth + 1)
        try:
            found = await find_numbered(self._face, visit.caller, number, "READ")
        except RefusalError as error:
            if error.status != 404 or not entries:
                raise
            return await asyncio.to_thread(_gone, number, entries, depth)
        name = found.entry.metadata.name
        return Page(name, await self._content(visit, found, entries, depth), "Resources")

    async def reconcile(self, visit: Visit) -> str:
        """Requests a reconciliation, and returns the page of the resource."""
        return await self._annotate(visit, {REQUESTED: self._face.stamp()})

    async def pause(self, visit: Visit) -> str:
        """Stops further runs; one that is under way ends by itself."""
        return await self._annotate(visit, {PAUSE: "true"})

    async def resume(self, visit: Visit) -> str:
        return await self._annotate(visit, {PAUSE: None})

    async def cancel(self, visit: Visit) -> str:
        """The run that the page showed."""
        number, ticket = read_number(visit.captured, "id"), read_form(visit.request).get("ticket", "")
        found = await find_numbered(self._face, visit.caller, number, "UPDATE")
        await cancel_run(self._face.acting(visit.caller), found, ticket or "-")
        return f"{ROOT}/resources/{number}"

    async def _annotate(self, visit: Visit, annotations: JsonObject) -> str:
        number = read_number(visit.captured, "id")
        found = await find_numbered(self._face, visit.caller, number, "UPDATE")
        try:
            await self._face.acting(visit.caller).merge(found.indexed.path, {"metadata": {"annotations": annotations}})
        except NotFoundError as error:
            raise no_resource() from error
        return f"{ROOT}/resources/{number}"

    async def _content(self, visit: Visit, found: Found, entries: Sequence[Reconciliation], depth: int) -> list[Node]:
        status, schema = found.entry.read_status(), found.type.spec.schema
        spec: Json = await asyncio.to_thread(decode_stored, found.entry.spec) if found.entry.spec else {}
        # Of a large resource these take hundreds of milliseconds, which would block the event loop.
        declared, outputs = await asyncio.gather(
            asyncio.to_thread(_values, "Declared", spec, schema), asyncio.to_thread(_values, "Outputs", status.outputs)
        )
        listed = await asyncio.to_thread(_history, found.entry.number, entries, depth)
        return [
            _crumbs(),
            _title(found, status),
            unobserved(found.entry.metadata.generation, status.observed_generation),
            await self._actions(visit, found, status),
            await self._run(found, status),
            await self._facts(visit, found, status, entries[:1]),
            el("div", declared, outputs if status.outputs else None, class_="columns"),
            conditions_table(status.conditions, (DEGRADED, PAUSED)),
            listed,
        ]

    async def _actions(self, visit: Visit, found: Found, status: ResourceStatus) -> Node:
        entry, spec = found.entry, found.type.spec
        if entry.metadata.deletion_timestamp or not await visit.caller.may(spec.name, spec.version, "UPDATE"):
            return None
        where, name = f"{ROOT}/resources/{entry.number}", entry.metadata.name
        kind = found.indexed.kind
        annotate = shell("homeostat", "annotate", f"{kind.plural}.{kind.group}", name, "-n", entry.metadata.namespace)
        if is_true(status.conditions, PAUSED):
            resume = Action("Resume", f"{where}/resume", f"{annotate} {PAUSE}-", is_primary=True)
            return actions(visit.viewer.proof, [resume])
        title = f"{kind.kind.lower()}/{name}"
        if (run := status.run) is not None and run.outcome is None and not _is_cancelling(found, run):
            cancel = shell("homeostat", "resource", "cancel", title, "-n", entry.metadata.namespace)
            stop = Action("Cancel run", f"{where}/cancel", cancel, {"ticket": run.ticket})
        else:
            stop = None
        again = "Retry now" if phase_of(entry, status) == "failed" else "Reconcile now"
        command = shell("homeostat", "resource", "reconcile", title, "-n", entry.metadata.namespace)
        offered = [
            # While a run is under way, it would only request the next one.
            Action(again, f"{where}/reconcile", command, is_primary=status.run is None),
            Action("Pause", f"{where}/pause", f"{annotate} {PAUSE}=true"),
        ]
        edit = await edit_action(visit, kind, entry.metadata.namespace, name)
        return actions(visit.viewer.proof, [*offered, stop, edit])

    async def _run(self, found: Found, status: ResourceStatus) -> Node:
        """The current run with what it has printed so far."""
        if status.run is None:
            return None
        metadata = found.entry.metadata
        resource = Resource(metadata=Metadata(metadata.name, metadata.namespace, metadata.uid))
        printed = await last_output(self._face.client, resource, status)
        return _run(status.run, printed.text, is_cancelling=_is_cancelling(found, status.run))

    async def _facts(
        self, visit: Visit, found: Found, status: ResourceStatus, last: Sequence[Reconciliation]
    ) -> Markup:
        metadata, title = found.entry.metadata, type_title(found.type)
        where = found.indexed.kind, metadata.namespace, metadata.name
        own = await object_link(visit, *where)
        generation = f"{metadata.generation}, reconciled: {status.reconciled_generation}"
        next_run: Node = "after the current run" if status.run is not None else moment(status.next_run)
        if status.run is None and any(each.spec.phase == "cancelled" for each in last):
            next_run = "on request, or after a change"
        return facts(
            ("Namespace", metadata.namespace),
            ("Type", title),
            ("Plugin", plugin_of(found.entry, found.type, await self._face.claim_on(found.type)) or "none"),
            ("Generation", generation),
            ("Last run", moment(status.last_run, "never")),
            ("Next run", next_run),
            ("Failures in a row", status.retries or ""),
            ("Created", moment(metadata.creation_timestamp)),
            ("Deleted", moment(metadata.deletion_timestamp) if metadata.deletion_timestamp else ""),
            ("Finalizers", ", ".join(metadata.finalizers) if metadata.deletion_timestamp else ""),
            ("Number", found.entry.number),
            ("Object", own),
        )


def _title(found: Found, status: ResourceStatus) -> Markup:
    entry = found.entry
    paused = chip("paused", "warn") if is_true(status.conditions, PAUSED) else None
    name = el("h1", entry.metadata.name, " ", phase_chip(phase_of(entry, status)), " ", paused)
    said = message_text(current_message(status), "message") if status.message else None
    return el("div", el("div", name, said), class_="title")


def _values(title: str, value: Json, schema: Json = None) -> Markup:
    return el("section", el("h2", title), value_block(without_secrets(value, schema)))


def _crumbs() -> Markup:
    return el("p", el("a", "Resources", href=f"{ROOT}/resources"), class_="crumbs")


def _is_cancelling(found: Found, run: Run) -> bool:
    return found.entry.metadata.annotations.cancel == run.ticket


def _run(run: Run, output: str, *, is_cancelling: bool) -> Markup:
    url = (run.outcome.url if run.outcome is not None else "") or (run.handle or {}).get("url")
    shown = without_credentials(url) if isinstance(url, str) else ""
    shown_facts = facts(
        ("Trigger", f"{run.trigger.replace('_', ' ')}{', drift was found' if run.is_drift else ''}"),
        ("Since", moment(run.began)),
        ("Generation", run.generation),
        ("Would change", changes_text(run.changes) if run.purpose == "apply" else ""),
        ("Ticket", el("code", run.ticket)),
        ("Detected", link(shown) if shown else ""),
    )
    word = f"Cancelling: {run.purpose}" if is_cancelling else f"Running: {run.purpose}"
    heading = el("h2", word, el("span", class_="busy", aria_hidden="true"))
    live = printed("Output so far", output) or el("p", "No output yet.", class_="note")
    steps = run_phases(run.began, run.steps)
    return el("section", heading, shown_facts, steps, printed("Plan", run.plan), live, class_="run", id="run")


def _history(number: int, entries: Sequence[Reconciliation], depth: int) -> Markup:
    shown = entries[:depth]
    more = (
        el("a", "Show more", href=f"{ROOT}/resources/{number}?history={min(depth * 5, MOST_ENTRIES)}", class_="more")
        if len(entries) > depth and depth < MOST_ENTRIES
        else None
    )
    nothing = el("div", el("p", "No runs yet."), class_="empty")
    body: Node = [timeline(shown), history(shown), more] if shown else nothing
    return el("section", el("h2", "History"), body, id="history")


def _gone(number: int, entries: Sequence[Reconciliation], depth: int) -> Page:
    spec = entries[0].spec
    title = el("div", el("h1", spec.resource_name, " ", chip("gone", "phase-deleting")), class_="title")
    summary = (
        f"{spec.resource_kind}/{spec.resource_version}; {many(min(len(entries), depth), 'entry', 'entries')} are kept."
    )
    return Page(spec.resource_name, [_crumbs(), title, el("p", summary), _history(number, entries, depth)], "Resources")
