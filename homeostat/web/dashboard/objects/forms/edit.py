"""`.../edit`: changes an object: its YAML in a form, then what the server would make of it, then the change.

Only changed fields are sent, as a merge patch for what was shown, so that hidden values stay as they are and nobody
else's change is lost. A controller that writes the status meanwhile does not matter. The preview is a dry run on the
server: defaults, validation and admission included.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple
from urllib.parse import quote_plus

from homeostat.client.base import MERGE_PATCH, Client
from homeostat.objects.edit import BY_SERVER, TRIES, InvalidTextError, check_same_object, edit_basis, read_manifest
from homeostat.objects.errors import ApiError, ConflictError
from homeostat.objects.json import JsonObject
from homeostat.objects.patch.json import patch_between
from homeostat.web.dashboard.form import read_form
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Node, el
from homeostat.web.dashboard.html.paging import place as at
from homeostat.web.dashboard.objects.access import may
from homeostat.web.dashboard.objects.commands import command_lines, on_object
from homeostat.web.dashboard.objects.forms.difference import QUICK_BYTES, difference
from homeostat.web.dashboard.objects.forms.manifest import (
    LARGEST_FORM,
    LARGEST_TEXT,
    MANAGER,
    alert,
    manifest_form,
    preview_form,
)
from homeostat.web.dashboard.objects.index import TITLE
from homeostat.web.dashboard.objects.kinds import ServedKinds, object_path
from homeostat.web.dashboard.objects.large import computed, size_of
from homeostat.web.dashboard.objects.object import Place, crumbs, place_of
from homeostat.web.dashboard.objects.shown import as_yaml, has_hidden, shown_object
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.refusal import forbidden


class _Sent(NamedTuple):
    text: str
    basis: str
    """What the text was written for: see `_basis`."""
    step: str


class EditPage:
    def __init__(self, client: Client, kinds: ServedKinds) -> None:
        self._client, self._kinds = client, kinds

    async def show(self, visit: Visit) -> Page:
        place = await place_of(visit, self._client, self._kinds)
        await _check(place)
        obj = await place.read()
        text, size = await computed(visit, size_of(obj), lambda: _text(editable(place, obj)))
        if size > LARGEST_TEXT:
            problem = (
                f"In a form, this object has {size:,} bytes, and a form may have {LARGEST_TEXT:,}. Use the command."
            )
            return _page(place, [alert(problem)], "Edit")
        return _form(visit, place, text, _basis(place, obj))

    async def take(self, visit: Visit) -> str | Page:
        place = await place_of(visit, self._client, self._kinds)
        await _check(place)
        form = await computed(visit, len(visit.request.body), lambda: read_form(visit.request, LARGEST_FORM))
        sent = _Sent(form.get("text", "").replace("\r\n", "\n"), form.get("basis", ""), form.get("step", "preview"))
        if sent.step == "edit":
            return _form(visit, place, sent.text, sent.basis)
        try:
            live, result = await _change(visit, place, sent)
        except (InvalidTextError, ConflictError) as error:
            return _form(visit, place, sent.text, sent.basis, str(error))
        except ApiError as error:
            # A form that is shown again keeps what was written: a policy, a webhook or a quota may refuse it.
            if error.code in (401, 404):
                raise
            return _form(visit, place, sent.text, sent.basis, error)
        if sent.step == "apply":
            return place.back or place.page()
        size = len(sent.text) + size_of(live)
        compare = partial(difference, place.kind, live, result, place.passwords)
        changes = await computed(visit, size, compare, quick_bytes=QUICK_BYTES)
        return _preview(visit, place, sent, changes)


def _text(obj: JsonObject) -> tuple[str, int]:
    """The YAML, and how many bytes it takes in a form."""
    text = as_yaml(obj)
    return text, len(text) if len(text) > LARGEST_TEXT else len(quote_plus(text))


def editable(place: Place, obj: JsonObject) -> JsonObject:
    """What the form shows: without the status, which is not changed here."""
    return {name: each for name, each in shown_object(place.kind, obj, place.passwords).items() if name != "status"}


async def _check(place: Place) -> None:
    if not await may(place.client, "patch", place.kind, place.namespace, place.name):
        raise forbidden(f"You are not allowed to change the {place.kind.kind} {place.title}.")


def _basis(place: Place, obj: JsonObject) -> str:
    """From what is shown: a page says nothing of hidden values, not even a digest."""
    return edit_basis(shown_object(place.kind, {"metadata": obj["metadata"]})["metadata"])


async def _change(visit: Visit, place: Place, sent: _Sent) -> tuple[JsonObject, JsonObject]:
    """The object before, and as the server has it, or would have it, afterwards."""
    for attempt in range(1, TRIES + 1):
        live = await place.read()
        size, version = len(sent.text) + size_of(live), live["metadata"].get("resourceVersion", "")
        patch = await computed(visit, size, partial(_patch, place, live, sent))
        try:
            return live, await _send(place, patch, version, is_dry=sent.step != "apply")
        except ConflictError:
            if attempt == TRIES:
                raise
    raise AssertionError("unreachable")


def _patch(place: Place, obj: JsonObject, sent: _Sent) -> JsonObject:
    live, edited = editable(place, obj), read_manifest(sent.text, limit=LARGEST_FORM)
    check_same_object(edited, live)
    if _basis(place, obj) != sent.basis:
        raise InvalidTextError(
            "the object was changed meanwhile; copy your changes, open the form again and repeat them there"
        )
    edited["metadata"] |= {name: live["metadata"][name] for name in BY_SERVER if name in live["metadata"]}
    patch = patch_between(live, edited)
    if not patch:
        raise InvalidTextError("nothing was changed; change the text first, or cancel")
    if has_hidden(patch):
        raise InvalidTextError(
            "the change contains a hidden value: a list is sent as a whole, with its hidden values; use the command"
        )
    return patch


async def _send(place: Place, patch: JsonObject, version: str, *, is_dry: bool) -> JsonObject:
    query = {"fieldManager": MANAGER, "fieldValidation": "Strict", "dryRun": "All" if is_dry else ""}
    body = {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": version}}
    return await place.client.request("PATCH", place.path, query, body=body, content_type=MERGE_PATCH)


def _here(place: Place) -> str:
    return at(
        object_path(place.kind, place.namespace, place.name, "edit"), {"version": place.version, "back": place.back}
    )


def _form(visit: Visit, place: Place, text: str, basis: str, problem: str | ApiError = "") -> Page:
    form = manifest_form(visit, text, {"basis": basis}, action=_here(place), cancel=place.back or place.page())
    note = (
        "Hidden values stay as they are unless you replace them. The next page is a preview; nothing is changed before."
    )
    return _page(place, [alert(problem), el("p", note, class_="summary"), form], "Edit")


def _preview(visit: Visit, place: Place, sent: _Sent, changes: Node) -> Page:
    word = "Apply" if changes is not None else ""
    kept, cancel = {"basis": sent.basis}, place.back or place.page()
    form = preview_form(visit, sent.text, kept, action=_here(place), cancel=cancel, word=word)
    nothing = el("div", el("p", "The server would change nothing."), class_="empty")
    summary = el("p", "The server accepts this change in a dry run. It has not been made yet.", class_="summary")
    return _page(place, [summary if changes is not None else None, changes or nothing, form], "Preview")


def _page(place: Place, content: list[Node], word: str) -> Page:
    commands = command_lines(on_object("edit", place.kind, place.namespace, place.name))
    head = el("div", el("h1", f"{word} {place.name}"), commands, class_="title")
    return Page(f"{word} {place.name}", [crumbs(place, is_object_linked=True), head, *content], TITLE, is_live=False)
