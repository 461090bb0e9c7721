"""`.../rollback`: returns a workload to an earlier template, as `kubectl rollout undo` does: first as a dry run.

The earlier templates are those of the ReplicaSets of a Deployment, and of the ControllerRevisions of a StatefulSet or a
DaemonSet. They come from the server and never from the form, so that hidden values return as well. What is applied is
what was shown: if the workload was changed after the preview, the answer is a new preview (409). A controller that
writes the status meanwhile does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec

from homeostat.client.base import Client
from homeostat.objects.edit import TRIES, edit_basis
from homeostat.objects.errors import ApiError, ConflictError, ForbiddenError
from homeostat.objects.json import JsonObject
from homeostat.objects.views.rollout import REVISION
from homeostat.web.dashboard.finding import Subject
from homeostat.web.dashboard.form import read_form
from homeostat.web.dashboard.html.command import command
from homeostat.web.dashboard.html.components import Row, chip, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page, proof_field
from homeostat.web.dashboard.html.markup import Node, el
from homeostat.web.dashboard.objects.access import may
from homeostat.web.dashboard.objects.commands import command_lines
from homeostat.web.dashboard.objects.forms.difference import QUICK_BYTES, difference
from homeostat.web.dashboard.objects.forms.manifest import MANAGER, alert
from homeostat.web.dashboard.objects.index import TITLE
from homeostat.web.dashboard.objects.kinds import ServedKinds
from homeostat.web.dashboard.objects.large import computed, size_of
from homeostat.web.dashboard.objects.object import Place, crumbs, place_of
from homeostat.web.dashboard.objects.rollback.deployers import deployer_of
from homeostat.web.dashboard.objects.rollback.revisions import (
    History,
    Revision,
    history_of,
    is_rollable,
    undo_command,
)
from homeostat.web.dashboard.objects.shown import shown_object
from homeostat.web.dashboard.origin import FindOrigin, Origin
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.refusal import forbidden, unknown

PAGE: Final = "rollback"
_MOST_IMAGES: Final = 10
"""Of a revision, in the list of revisions."""
_CONTENDED: Final = "The workload was changed again and again meanwhile. Nothing was changed here; try again."
_STALE: Final = "The workload was changed after the preview. Nothing was changed; this is the difference as it is now."


class _Seen(NamedTuple):
    """A workload as it is now, with what the page says of it."""

    place: Place
    obj: JsonObject
    origin: Origin | None
    history: History
    refusal: str = ""
    """Why its revisions cannot be read."""

    def basis(self, chosen: Revision) -> str:
        """From what is shown of the workload and of the revision: a page says nothing of hidden values, not even a
        digest. Without the number that the controller of a Deployment writes after each change of the template.
        """
        shown = shown_object(self.place.kind, {"metadata": self.obj["metadata"]})["metadata"]
        notes = {name: each for name, each in (shown.get("annotations") or {}).items() if name != REVISION}
        returned = {"metadata": {"annotations": chosen.returned}, "spec": {"template": chosen.template}}
        return edit_basis({**shown, "annotations": notes, "returned": shown_object(self.place.kind, returned)})

    @property
    def obstacle(self) -> str:
        """Why nothing can be rolled back now; empty if it can."""
        if self.refusal or not self.obj["spec"].get("paused"):
            return self.refusal
        name = f"deployment/{self.place.name} -n {self.place.namespace}"
        return f"A paused Deployment cannot be rolled back. Resume it first: kubectl rollout resume {name}"


class RollbackPage:
    """`origins` find who else declares a workload."""

    def __init__(self, client: Client, kinds: ServedKinds, origins: Sequence[FindOrigin]) -> None:
        self._client, self._kinds, self._origins = client, kinds, origins

    async def show(self, visit: Visit) -> Page:
        return _choice(visit, await self._see(visit, await self._place(visit)))

    async def take(self, visit: Visit) -> str | Page:
        place, form = await self._place(visit), read_form(visit.request)
        problem = _CONTENDED
        for _ in range(TRIES):
            seen = await self._see(visit, place)
            uid = form.get("revision", "")
            chosen = next((each for each in seen.history.revisions if each.uid == uid), None)
            if seen.obstacle:
                return _choice(visit, seen, status=409)
            if chosen is None:
                return _choice(visit, seen, "This revision no longer exists. Choose another one.", status=409)
            basis = await computed(visit, size_of(chosen.template), partial(seen.basis, chosen))
            is_wanted = form.get("step") == "apply"
            is_stale = is_wanted and form.get("basis") != basis
            try:
                result = await _send(seen, chosen, is_dry=not is_wanted or is_stale)
            except ConflictError as error:
                # A controller writes the status of a workload that rolls out all the time.
                problem = f"{_CONTENDED} The last answer of the server: {error.message}"
                continue
            except ApiError as error:
                if error.code in (401, 404):
                    raise
                return _choice(visit, seen, error.message, status=error.code)
            if is_wanted and not is_stale:
                return place.page()
            compare = partial(difference, seen.place.kind, seen.obj, result)
            changes = await computed(visit, size_of(seen.obj, result), compare, quick_bytes=QUICK_BYTES)
            return _preview(visit, seen, chosen, changes, basis, is_stale=is_stale)
        return _choice(visit, seen, problem, status=409)

    async def _place(self, visit: Visit) -> Place:
        place = await place_of(visit, self._client, self._kinds)
        if not is_rollable(place.kind):
            raise unknown(f"A {place.kind.kind} has no revisions to roll back to.")
        if not await may(place.client, "patch", place.kind, place.namespace, place.name):
            raise forbidden(f"You are not allowed to change the {place.kind.kind} {place.title}.")
        return place

    async def _see(self, visit: Visit, place: Place) -> _Seen:
        obj = await place.read()
        subject = Subject(place.kind, place.namespace, place.name, obj)
        found = [await find(visit, subject) for find in self._origins]
        origin = next((each for each in found if each is not None), None) or deployer_of(obj)
        try:
            return _Seen(place, obj, origin, await history_of(place.client, place.kind, obj))
        except ForbiddenError as error:
            return _Seen(place, obj, origin, History([]), f"Its revisions cannot be read: {error.message}")


async def _send(seen: _Seen, chosen: Revision, *, is_dry: bool) -> JsonObject:
    query = {"fieldManager": MANAGER, "dryRun": "All" if is_dry else ""}
    body, content_type = chosen.patch(seen.obj)
    return await seen.place.client.request("PATCH", seen.place.path, query, body=body, content_type=content_type)


def _choice(visit: Visit, seen: _Seen, problem: str = "", *, status: int = 200) -> Page:
    """The revisions to choose from."""
    content = [alert(problem or seen.obstacle), _warning(seen.origin), _listed(visit, seen)]
    page = _page(seen.place, content, "Roll back")
    return msgspec.structs.replace(page, status=403 if seen.refusal else status)


def _warning(origin: Origin | None) -> Node:
    if origin is None:
        return None
    lines = [el("p", command(each)) for each in origin.commands]
    words = [
        el("p", el("strong", f"{origin.by}: "), origin.reverted),
        el("p", origin.instead) if origin.instead else None,
    ]
    return el("div", words, lines, class_="origin", role="note")


def _listed(visit: Visit, seen: _Seen) -> Node:
    found, is_whole = seen.history
    if not found:
        return (
            None if seen.refusal else el("div", el("p", "No controller has recorded a revision yet."), class_="empty")
        )
    rows = [_row(visit, seen, each) for each in found]
    note = "The newest first. The preview is a dry run: nothing is changed before you apply it."
    more = None if is_whole else " There are more of them than are shown here; the command reaches them, too."
    headings = ("Revision", "Created", "Images", "Change cause", "Roll back")
    return [el("p", note, more, class_="summary"), table("Revisions", headings, rows, class_="cards revisions")]


def _row(visit: Visit, seen: _Seen, each: Revision) -> Row:
    place, offered, is_current = seen.place, list[Node](), each.is_current(seen.obj)
    if not is_current and not seen.obstacle:
        button = el("button", f"Preview {each.number}", type="submit", name="step", value="preview")
        fields = (proof_field(visit.viewer.proof), el("input", type="hidden", name="revision", value=each.uid))
        offered = [
            el("form", fields, button, method="post", action=place.page(PAGE)),
            command(undo_command(place.kind, place.namespace, place.name, each.number)) if each.number else None,
        ]
    return row(
        f"revision-{each.uid}",
        [str(each.number), " ", chip("current", "good") if is_current else None],
        moment(each.created),
        _images(each.images),
        one_line(each.cause) or "–",
        el("div", offered, class_="offered") if offered else None,
    )


def _images(images: Sequence[str]) -> list[Node]:
    shown: list[Node] = [el("code", one_line(each)) for each in images[:_MOST_IMAGES]]
    further = len(images) - _MOST_IMAGES
    return [*shown, f"and {further:,} more"] if further > 0 else shown


def _preview(visit: Visit, seen: _Seen, chosen: Revision, changes: Node, basis: str, *, is_stale: bool) -> Page:
    place, number = seen.place, chosen.number
    apply = el("button", f"Roll back to revision {number}", type="submit", name="step", value="apply", class_="primary")
    fields = {"revision": chosen.uid, "basis": basis}
    form = el(
        "form",
        proof_field(visit.viewer.proof),
        [el("input", type="hidden", name=name, value=value) for name, value in fields.items()],
        el(
            "p",
            [apply, " "] if changes is not None else None,
            el("a", "Cancel", href=place.page(PAGE), class_="clear"),
        ),
        method="post",
        action=place.page(PAGE),
    )
    summary = el("p", "The server accepts this change in a dry run. It has not been made yet.", class_="summary")
    nothing = el("div", el("p", f"The workload is already as in revision {number}."), class_="empty")
    body: list[Node] = [summary, changes] if changes is not None else [nothing]
    content = [alert(_STALE) if is_stale else None, _warning(seen.origin), *body, form]
    page = _page(place, content, f"Roll back to revision {number}:", number)
    return msgspec.structs.replace(page, status=409 if is_stale else 200)


def _page(place: Place, content: list[Node], word: str, number: int | None = None) -> Page:
    """No command reaches a revision without a number: to kubectl, 0 is the one before the current one."""
    to = undo_command(place.kind, place.namespace, place.name, number or 0)
    commands = command_lines(to) if number != 0 else None
    head = el("div", el("h1", f"{word} {place.name}"), commands, class_="title")
    return Page(f"{word} {place.name}", [crumbs(place, is_object_linked=True), head, *content], TITLE, is_live=False)
