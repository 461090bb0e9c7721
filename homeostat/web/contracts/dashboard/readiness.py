"""`/dashboard/contracts/readiness`: which contracts are ready, until when, and what expires next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from homeostat.operators.contracts.engine.dates import parse_date
from homeostat.web.contracts.dashboard.contracts import (
    HERE,
    TITLE,
    ContractRow,
    Contracts,
    Readiness,
    contract_tabs,
    no_contracts,
    readiness_chip,
)
from homeostat.web.dashboard.html.command import nothing
from homeostat.web.dashboard.html.components import Row, chip, many, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import cut, pager, place, summary
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query

READINESS: Final = f"{HERE}/readiness"
_WINDOWS: Final = (("not ready", -1, "bad"), ("7 days", 7, "bad"), ("30 days", 30, "warn"), ("90 days", 90, "busy"))
_LATER: Final = "later or never"


class ForecastQuery(msgspec.Struct, frozen=True):
    within: Annotated[str, Meta(max_length=20)] = ""
    page: Annotated[int, Meta(ge=1, le=10**6)] = 1


class Forecast(NamedTuple):
    each: ContractRow
    readiness: Readiness
    until: date | None
    """The last day on which it is ready; None if it stays so, or is not."""
    window: str


class ReadinessPage:
    def __init__(self, contracts: Contracts, today: Callable[[], date] = lambda: datetime.now(UTC).date()) -> None:
        self._contracts, self._today = contracts, today

    async def show(self, visit: Visit) -> Page:
        query, rows, today = read_query(visit.request, ForecastQuery), await self._contracts.worst(visit), self._today()
        found = sorted((forecast(each, today) for each in rows if each.status.readiness is not None), key=_order)
        shown = cut([each for each in found if query.within in ("", each.window)], query.page)
        body: Node = (
            await no_contracts(visit)
            if not rows
            else nothing(
                "No contract has a readiness section. Add one to pacto.yaml, and publish the next version:",
                "homeostat contract push oci://REGISTRY/NAME -p DIRECTORY",
            )
        )
        if found:
            headings = ("Contract", "Readiness", "Ready until", "Expires next", "Owner")
            body = [
                _tiles(Counter(each.window for each in found)),
                summary(shown, "contract"),
                table("Readiness", headings, [_row(each, today) for each in shown.items]),
                pager(READINESS, {"within": query.within}, shown),
            ]
        return Page("Readiness", [el("h1", TITLE), contract_tabs("Readiness"), body], TITLE)


def forecast(each: ContractRow, today: date) -> Forecast:
    readiness = each.status.readiness or Readiness()
    until = parse_date(readiness.passing_until) if readiness.passing else None
    if not readiness.passing or (until is not None and until < today):
        return Forecast(each, readiness, None, _WINDOWS[0][0])
    if until is None:
        return Forecast(each, readiness, None, _LATER)
    days = (until - today).days
    return Forecast(each, readiness, until, next((name for name, most, _ in _WINDOWS[1:] if days <= most), _LATER))


def _order(each: Forecast) -> tuple[int, date, str]:
    names = [name for name, _, _ in _WINDOWS]
    at = names.index(each.window) if each.window in names else len(names)
    return at, each.until or date.max, each.each.pacto.metadata.name


def _tiles(counts: Counter[str]) -> Markup:
    items = [(name, look, "" if name == "not ready" else "ends within ") for name, _, look in _WINDOWS]
    items.append((_LATER, "good", "ends "))
    tiles = [
        el(
            "li",
            el(
                "a",
                el("span", f"{counts[name]:,}", class_="number"),
                el("span", f"{prefix}{name}", class_=f"word state-{look}"),
                href=place(READINESS, {"within": name}),
                class_="tile" if counts[name] else "tile none",
            ),
        )
        for name, look, prefix in items
    ]
    return el("ul", tiles, class_="tiles", aria_label="Contracts by the end of their readiness")


def _row(found: Forecast, today: date) -> Row:
    where = found.each.pacto.metadata
    return row(
        f"readiness-{where.uid}",
        [el("a", where.name, href=found.each.pacto.path), el("span", where.namespace, class_="note")],
        readiness_chip(found.readiness),
        _until(found, today),
        _next(found.readiness, today),
        found.each.status.contract.owner_display or "–",
    )


def _until(found: Forecast, today: date) -> Node:
    if found.window == _WINDOWS[0][0]:
        return chip("not ready", "bad")
    if found.until is None:
        return "no end"
    return remaining(found.until, today)


def remaining(until: date, today: date) -> Node:
    """The last day, and how many are left: as a chip if they are few. A status that nobody renews may be older."""
    days = (until - today).days
    left = f"{many(days, 'day')} left" if days > 0 else "expired" if days else "the last day"
    look = next((look for _, most, look in _WINDOWS[1:] if days <= most), "plain")
    return [str(until), " ", chip(left, look) if look in ("bad", "warn") else el("span", left, class_="note")]


def _next(readiness: Readiness, today: date) -> Node:
    """What expires next, and what has expired: checks, or the whole assessment."""
    days = [(readiness.expires, "the assessment"), *((each.expires, each.id) for each in readiness.checks)]
    dated = sorted((day, name) for text, name in days if (day := parse_date(text)) is not None)
    expired = [name for day, name in dated if day < today]
    coming = next(((day, name) for day, name in dated if day >= today), None)
    return [
        f"{coming[1]} on {coming[0]}" if coming is not None else "–",
        el("span", f"expired: {', '.join(expired[:5])}", class_="note") if expired else None,
    ]
