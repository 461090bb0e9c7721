"""`.../bulk`: deletes, labels, reconciles, pauses or restarts the objects that were selected in a list.

The first page says for each object what the server would do, by a dry run; the second one what it did. Each request
has the permissions of the visitor and is for the object that was selected, by its uid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from homeostat.client.base import Client
from homeostat.objects.kind import Kind
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.web.dashboard.form import read_form
from homeostat.web.dashboard.html.components import chip, many, one_line, row, table
from homeostat.web.dashboard.html.layout import Page, proof_field
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.objects.access import may
from homeostat.web.dashboard.objects.bulk.batch import Result, carry_out
from homeostat.web.dashboard.objects.bulk.operation import (
    DELETE,
    Change,
    InvalidOperationError,
    Operation,
    operations_of,
    read_change,
)
from homeostat.web.dashboard.objects.bulk.selection import MOST_FIELDS, MOST_SELECTED, bulk_path, read_selection
from homeostat.web.dashboard.objects.commands import command_lines
from homeostat.web.dashboard.objects.forms.manifest import LARGEST_FORM, alert
from homeostat.web.dashboard.objects.index import TITLE
from homeostat.web.dashboard.objects.kinds import HERE, ServedKinds, kind_path, object_path
from homeostat.web.dashboard.objects.large import computed
from homeostat.web.dashboard.trigger import Trigger, Triggers
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.refusal import forbidden


class _Wanted(msgspec.Struct, frozen=True):
    version: Annotated[str, Meta(max_length=63)] = ""


class BulkPage:
    """`now` is a clock: a request to reconcile has its time."""

    def __init__(
        self,
        client: Client,
        kinds: ServedKinds,
        triggers: Triggers,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client, self._kinds, self._triggers, self._now = client, kinds, triggers, now

    async def offered(self, client: Client, kind: Kind, namespace: str) -> list[Operation]:
        """Those that the visitor may carry out in the namespace, or in all."""
        possible = operations_of(kind, await self._trigger(kind))
        return [each for each in possible if await may(client, each.verb, kind, namespace)]

    async def take(self, visit: Visit) -> Page:
        version = read_query(visit.request, _Wanted).version
        kind = await self._kinds.find(visit.captured["group"], visit.captured["plural"], version)
        read = partial(read_form, visit.request, LARGEST_FORM, most_fields=MOST_FIELDS)
        form = await computed(visit, len(visit.request.body), read)
        namespace, selected = form.get("from", ""), read_selection(form)
        back = kind_path(kind, namespace=namespace, version=version)
        try:
            change = read_change(form, kind, await self._trigger(kind), format_micro_time(self._now()))
        except InvalidOperationError as error:
            return _refused(kind, str(error), back)
        if not selected:
            return _refused(kind, "Nothing is selected. Select objects in the list first.", back)
        if len(selected) > MOST_SELECTED:
            problem = f"{len(selected):,} objects are selected; at most {MOST_SELECTED} are changed at once."
            return _refused(kind, problem, back)
        client, operation = visit.client(self._client), change.operation
        if not await may(client, operation.verb, kind, namespace):
            where = f" in the namespace {namespace}" if namespace else ""
            raise forbidden(f"You are not allowed to {operation.verb} {kind.plural}{where}.")
        if form.get("step") == "apply":
            return _done(kind, change, await carry_out(client, kind, change, selected, is_dry=False), back)
        results = await carry_out(client, kind, change, selected, is_dry=True)
        kept = {"operation": operation.word, "label": form.get("label", ""), "from": namespace, "step": "apply"}
        hidden = [el("input", type="hidden", name=name, value=value) for name, value in kept.items()]
        fields = [
            proof_field(visit.viewer.proof),
            hidden,
            [each.selected.field for each in results if not each.problem],
        ]
        buttons = el("p", _button(change, results), el("a", "Cancel", href=back, class_="clear"))
        return _preview(
            kind,
            change,
            results,
            el("form", fields, buttons, method="post", action=bulk_path(kind, version), class_="confirm stuck"),
        )

    async def _trigger(self, kind: Kind) -> Trigger | None:
        found = self._triggers.get((kind.group, kind.plural)) or self._triggers.get((kind.group, "*"))
        if found is None or found.served is None:
            return found
        return found if await self._kinds.named(found.served.api_version, found.served.kind) is not None else None


def _button(change: Change, results: Sequence[Result]) -> Node:
    count = sum(not each.problem for each in results)
    if not count:
        return None
    style = "danger" if change.operation is DELETE else "primary"
    return [el("button", f"{change.title}: {many(count, 'object')}", type="submit", class_=style), " "]


def _commands(kind: Kind, change: Change, results: Sequence[Result]) -> Node:
    """One for each namespace, of what the button would change."""
    by_namespace: dict[str, list[str]] = {}
    for each in results:
        if not each.problem:
            by_namespace.setdefault(each.selected.namespace, []).append(each.selected.name)
    if not by_namespace:
        return None
    lines = (change.command(kind, namespace, names) for namespace, names in sorted(by_namespace.items()))
    return el("section", el("h2", "The same by commands"), command_lines(*lines))


def _preview(kind: Kind, change: Change, results: Sequence[Result], confirm: Markup) -> Page:
    refused = sum(bool(each.problem) for each in results)
    text = "This is the result of a dry run on the server. Nothing has been changed yet."
    note = f" {many(refused, 'object')} would fail and {'is' if refused == 1 else 'are'} left out."
    content: list[Node] = [
        el("p", text, note if refused else None, class_="summary"),
        _table(kind, results, f"would be {change.operation.done}", "would fail"),
        confirm,
        _commands(kind, change, results),
    ]
    return _page(kind, f"{change.title}: {many(len(results), 'object')}?", content)


def _done(kind: Kind, change: Change, results: Sequence[Result], back: str) -> Page:
    failed = sum(bool(each.problem) for each in results)
    text = f"{many(len(results) - failed, 'object')} {change.operation.done}, {failed:,} failed."
    content: list[Node] = [
        el("p", text, " ", el("a", "Back to the list", href=back), class_="summary", role="status"),
        _table(kind, results, change.operation.done, "failed"),
    ]
    return _page(kind, f"{change.title}: results", content)


def _table(kind: Kind, results: Sequence[Result], good: str, bad: str) -> Markup:
    """What failed comes first."""
    rows = [
        row(
            f"selected-{at}",
            el("a", each.selected.name, href=object_path(kind, each.selected.namespace, each.selected.name)),
            each.selected.namespace or "–",
            chip(bad, "bad") if each.problem else chip(good, "good"),
            el("span", one_line(each.problem), class_="why") if each.problem else None,
        )
        for at, each in enumerate(sorted(results, key=lambda each: (not each.problem, each.selected)))
    ]
    return table("Selected objects", ("Object", "Namespace", "Result", "Why"), rows, class_="cards")


def _refused(kind: Kind, problem: str, back: str) -> Page:
    content: list[Node] = [alert(problem), el("p", el("a", "Back to the list", href=back))]
    return msgspec.structs.replace(_page(kind, "Nothing was changed", content), status=422)


def _page(kind: Kind, title: str, content: list[Node]) -> Page:
    crumbs = el("p", el("a", TITLE, href=HERE), " › ", el("a", kind.kind, href=kind_path(kind)), class_="crumbs")
    return Page(title, [crumbs, el("h1", title), *content], TITLE, is_live=False)
