"""The Events of an object, newest first."""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import ForbiddenError
from homeostat.web.dashboard.home.timeline import EVENTS, RecordedEvent
from homeostat.web.dashboard.html.components import Row, chip, message_text, moment, row, table
from homeostat.web.dashboard.html.markup import Markup, Node, el

MOST_SHOWN: Final = 30
_MOST_READ: Final = 200


class _Events(msgspec.Struct, frozen=True):
    items: list[RecordedEvent] | None = None


_events = msgspec.json.Decoder(_Events)


async def events_of(client: Client, namespace: str, uid: str) -> Node:
    """Events of cluster-scoped objects are in other namespaces, so they are searched in all."""
    query = {"fieldSelector": f"involvedObject.uid={uid}", "limit": _MOST_READ}
    try:
        found = _events.decode(await client.fetch("GET", EVENTS.path(namespace), query)).items or []
    except ForbiddenError:
        return _section(el("div", el("p", "You are not allowed to list Events here."), class_="empty"))
    if not found:
        return _section(el("div", el("p", "None. Servers keep Events for about an hour."), class_="empty"))
    found.sort(key=lambda each: each.at, reverse=True)
    rows = [_row(each) for each in found[:MOST_SHOWN]]
    return _section(table("Events", ("Reason", "Type", "Message", "Last seen"), rows, class_="events"))


def _row(event: RecordedEvent) -> Row:
    count = f" x{event.count}" if event.count and event.count > 1 else ""
    look = "bad" if event.type == "Warning" else "plain"
    return row(
        f"event-{event.metadata.uid}",
        f"{event.reason}{count}",
        chip(event.type or "Normal", look),
        message_text(event.message),
        moment(event.at),
    )


def _section(body: Markup) -> Markup:
    return el("section", el("h2", "Events"), body)
