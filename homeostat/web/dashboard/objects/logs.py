"""`.../pods/{namespace}/{name}/logs`: the last lines that a container printed, as they come in.

Only servers whose Pods run have logs: a control plane simulates Pods, and then no page leads here. The server is asked
with the permissions of the visitor, for a bounded number of lines and bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.web.dashboard.html.command import shell
from homeostat.web.dashboard.html.components import many
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import field
from homeostat.web.dashboard.html.redaction import plain_text
from homeostat.web.dashboard.objects.access import is_pod, may_read_logs, serves_logs
from homeostat.web.dashboard.objects.commands import command_lines
from homeostat.web.dashboard.objects.forms.manifest import alert
from homeostat.web.dashboard.objects.index import TITLE
from homeostat.web.dashboard.objects.kinds import ServedKinds
from homeostat.web.dashboard.objects.object import Place, crumbs, place_of
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.refusal import forbidden, unknown

PAGE: Final = "logs"
MOST_BYTES: Final = 2 << 20
MOST_SHOWN: Final = 256 * 1024
_LINES: Final = (100, 500, 2000)
_DEFAULT: Final = "kubectl.kubernetes.io/default-container"


class Wanted(msgspec.Struct, frozen=True):
    """`q` is a word that the shown lines contain; `run` is the container's current run, or the one before it ended."""

    container: Annotated[str, Meta(max_length=253)] = ""
    q: Annotated[str, Meta(max_length=200)] = ""
    lines: Literal[100, 500, 2000] = 500
    run: Literal["current", "previous"] = "current"


class LogsPage:
    def __init__(self, client: Client, kinds: ServedKinds) -> None:
        self._client, self._kinds = client, kinds

    async def show(self, visit: Visit) -> Page:
        place = await place_of(visit, self._client, self._kinds)
        if not is_pod(place.kind):
            raise unknown(f"A {place.kind.kind} has no logs. Open one of its Pods.")
        if not await serves_logs(place.client):
            raise unknown("This server has no logs: nothing runs in its Pods.")
        if not await may_read_logs(place.client, place.kind, place.namespace, place.name):
            raise forbidden(f"You are not allowed to read the logs of the Pod {place.title} (get pods/log).")
        containers, wanted = _containers(await place.read()), read_query(visit.request, Wanted)
        container = wanted.container or containers[0]
        text, problem = b"", ""
        try:
            text = await _read(place, container, wanted)
        except ApiError as error:
            problem = error.message
        content: list[Node] = [
            crumbs(place, is_object_linked=True),
            el(
                "div",
                el("h1", f"Logs of {place.name}"),
                command_lines(_command(place, container, wanted)),
                class_="title",
            ),
            _form(place, containers, container, wanted),
            alert(problem) or _lines(text, wanted),
        ]
        return Page(f"Logs of {place.name}", content, TITLE, is_live=wanted.run == "current")


def _containers(pod: JsonObject) -> list[str]:
    """The default one first, if the Pod names one; those that only start it last."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations") or {}
    parts = ("containers", "ephemeralContainers", "initContainers")
    names = [str(each["name"]) for part in parts for each in spec.get(part) or ()]
    return sorted(names, key=lambda each: each != annotations.get(_DEFAULT))


async def _read(place: Place, container: str, wanted: Wanted) -> bytes:
    query: dict[str, object] = {"container": container, "tailLines": wanted.lines, "limitBytes": MOST_BYTES}
    query |= {"timestamps": "true", "previous": "true" if wanted.run == "previous" else ""}
    path = place.kind.path(place.namespace, place.name, "log")
    return await place.client.fetch("GET", path, query, accept="text/plain, */*")


def _command(place: Place, container: str, wanted: Wanted) -> str:
    previous = ["--previous"] if wanted.run == "previous" else []
    more = (f"--tail={wanted.lines}", "--timestamps", *previous)
    return shell("kubectl", "logs", place.name, "-n", place.namespace, "-c", container, *more)


def _form(place: Place, containers: Sequence[str], container: str, wanted: Wanted) -> Markup:
    word = el("input", type="search", id="q", name="q", value=wanted.q, maxlength=200, placeholder="a word of a line")
    return el(
        "form",
        field("Lines with", "q", word),
        field("Container", "container", _select("container", containers, container)),
        field("Run", "run", _select("run", ("current", "previous"), wanted.run)),
        field("Lines", "lines", _select("lines", list(map(str, _LINES)), str(wanted.lines))),
        el("button", "Filter", type="submit"),
        method="get",
        action=place.page(PAGE),
        class_="filter",
        role="search",
    )


def _select(name: str, values: Sequence[str], chosen: str) -> Markup:
    return el(
        "select", [el("option", each, value=each, selected=each == chosen) for each in values], name=name, id=name
    )


def _lines(text: bytes, wanted: Wanted) -> Node:
    """The end of a long text is shown: the newest lines."""
    lines = plain_text(text[-MOST_SHOWN:].decode(errors="replace")).splitlines()
    found = [each for each in lines if wanted.q.lower() in each.lower()]
    # Of more bytes than it may send, a server sends the first ones: the newest lines are missing.
    is_cut = len(text) >= MOST_BYTES
    fewer = f"These lines have more than {MOST_BYTES >> 20} MiB, so the newest are missing. Choose fewer lines."
    if not found:
        what = (
            f"None of the last {many(len(lines), 'line')} contains this text."
            if lines
            else "The container has printed nothing."
        )
        return [alert(fewer) if is_cut else None, el("div", el("p", what), class_="empty")]
    longer = f"; only their last {MOST_SHOWN // 1024} KiB are shown" if len(text) > MOST_SHOWN else ""
    # The script keeps the newest lines in view.
    shown = el("pre", "\n".join(found), class_="printed log", id="log", tabindex=0)
    summary = el("p", f"{many(len(found), 'line')}, the newest last{longer}", class_="summary")
    return [alert(fewer) if is_cut else None, summary, shown]
