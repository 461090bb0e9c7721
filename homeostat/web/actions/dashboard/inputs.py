"""`/dashboard/inputs`: the sources that declare resources, with the state of their last read.

Who may list ResourceInputs in the namespace of this server sees them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.objects.conditions import READY, find
from homeostat.objects.declared import readable_status
from homeostat.objects.errors import NotFoundError
from homeostat.operators.actions.inputs.api import RESOURCE_INPUT, ResourceInput, ResourceInputStatus
from homeostat.web.actions.face import Face
from homeostat.web.dashboard.html.command import actions, nothing
from homeostat.web.dashboard.html.components import (
    Row,
    chip,
    facts,
    message_text,
    moment,
    one_line,
    row,
    table,
    value_block,
)
from homeostat.web.dashboard.html.conditions import conditions_table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import tabs
from homeostat.web.dashboard.html.redaction import without_secrets
from homeostat.web.dashboard.link import create_links, edit_action, object_link
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.gate import Question
from homeostat.web.kit.refusal import forbidden, unknown

_RESOURCES: Final = f"{ROOT}/resources"
_UNDER_WAY: Final = ("Applying", "Connecting")
"""Reasons of a Ready condition that is Unknown while the input works."""
INPUTS: Final = f"{ROOT}/inputs"
RUNS: Final = f"{ROOT}/runs"
MOST_SHOWN: Final = 200
_KIND: Final = RESOURCE_INPUT.kind


class _List(msgspec.Struct, frozen=True):
    items: list[ResourceInput]


_list = msgspec.json.Decoder(_List)
_input = msgspec.json.Decoder(ResourceInput)


async def resource_tabs(visit: Visit, namespace: str, current: str) -> Node:
    """The inputs are for who may list them."""
    inputs = (("Inputs", INPUTS),) if await _may_list(visit, namespace) else ()
    return tabs("Resources", (("Resources", _RESOURCES), ("Runs", RUNS), *inputs), current)


async def _may_list(visit: Visit, namespace: str) -> bool:
    return await visit.caller.allows(Question(_KIND.group, _KIND.plural, "list", namespace))


class Inputs:
    def __init__(self, face: Face) -> None:
        self._face = face

    async def show(self, visit: Visit) -> Page:
        await self._check(visit)
        path = _KIND.path(self._face.namespace)
        try:
            # Inputs are few; a page of them is enough to see which fail.
            found = _list.decode(await self._face.client.fetch("GET", path, {"limit": MOST_SHOWN})).items
        except NotFoundError:
            found = []
        body: Node = nothing(
            "No inputs are declared: resources come from the API alone. To read them from Git, a URL or a queue:",
            "homeostat explain resourceinput.spec",
            "homeostat apply -f input.yaml",
            links=await create_links(visit, _KIND),
        )
        if found:
            headings = ("Input", "State", "Plugin", "Declared", "Applied", "Failed", "Revision", "Since", "Message")
            body = table("Inputs", headings, [_row(each) for each in sorted(found, key=_order)])
        shown = await resource_tabs(visit, self._face.namespace, "Inputs")
        return Page("Inputs", [el("h1", "Resources"), shown, body], "Resources")

    async def show_one(self, visit: Visit) -> Page:
        await self._check(visit)
        name = visit.captured["name"]
        try:
            found = _input.decode(await self._face.client.fetch("GET", _KIND.path(self._face.namespace, name)))
        except NotFoundError as error:
            raise unknown(f"ResourceInput {name} not found") from error
        status, spec = readable_status(found, ResourceInputStatus), found.spec
        ready = find(status.conditions, READY)
        title = el("h1", name, " ", _chip(status))
        message = message_text(ready.message, "message") if ready is not None else None
        content: list[Node] = [
            el("p", el("a", "Inputs", href=INPUTS), class_="crumbs"),
            el("div", el("div", title, message), class_="title"),
            actions(visit.viewer.proof, [await edit_action(visit, _KIND, self._face.namespace, name)]),
            facts(
                ("Object", await object_link(visit, _KIND, self._face.namespace, name)),
                ("Plugin", spec.plugin),
                ("Read every", f"{spec.interval_seconds} s"),
                (
                    "Revision",
                    el("code", status.revision[:20], title=status.revision) if status.revision else "none yet",
                ),
                ("Since", moment(status.revision_time)),
                ("Declared", status.declared),
                ("Applied", status.applied),
                ("Failed", status.failed),
                ("Not deleted yet", status.pending_deletions),
                (
                    "Messages",
                    f"{status.taken} taken, {status.rejected} rejected" if status.taken or status.rejected else "",
                ),
                ("Prune", f"up to {spec.prune.max_percent} % at once" if spec.prune.is_enabled else "off"),
                ("When deleted", "resources are deleted" if spec.deletion_policy == "Delete" else "resources stay"),
            ),
            _errors(status),
            el("section", el("h2", "Configuration"), value_block(without_secrets(spec.config)))
            if spec.config
            else None,
            conditions_table(status.conditions),
        ]
        return Page(name, content, "Resources")

    async def _check(self, visit: Visit) -> None:
        if not await _may_list(visit, self._face.namespace):
            raise forbidden(
                f"{visit.caller.username} is not allowed to list resourceinputs in the namespace {self._face.namespace}"
            )


def _chip(status: ResourceInputStatus) -> Markup:
    ready = find(status.conditions, READY)
    if ready is None or (ready.status == "Unknown" and ready.reason in _UNDER_WAY):
        return chip("pending", "phase-pending")
    if ready.status == "Unknown":
        # It cannot be read, and is read again: nobody should take that for a beginning.
        return chip(ready.reason or "unknown", "warn")
    return chip("ready", "good") if ready.status == "True" else chip(ready.reason or "not ready", "bad")


def _order(found: ResourceInput) -> tuple[bool, str]:
    ready = find(readable_status(found, ResourceInputStatus).conditions, READY)
    return ready is not None and ready.status == "True", found.metadata.name


def _row(found: ResourceInput) -> Row:
    status, name = readable_status(found, ResourceInputStatus), found.metadata.name
    ready = find(status.conditions, READY)
    return row(
        f"input-{found.metadata.uid}",
        el("a", name, href=f"{INPUTS}/{name}"),
        _chip(status),
        found.spec.plugin,
        status.declared,
        status.applied,
        status.failed,
        el("code", status.revision[:12], title=status.revision) if status.revision else "–",
        moment(status.revision_time),
        el("span", one_line(ready.message if ready is not None else ""), class_="why"),
    )


def _errors(status: ResourceInputStatus) -> Node:
    if not status.errors:
        return None
    rows = [
        row(f"error-{at}", el("code", one_line(each.source)), el("span", one_line(each.message), class_="why"))
        for at, each in enumerate(status.errors)
    ]
    return el("section", el("h2", "Errors"), table("Errors of the source", ("Where", "Error"), rows))
