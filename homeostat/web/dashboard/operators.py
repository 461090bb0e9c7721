"""`/dashboard/operators`: how the operators of this process work: leader, queues, watches, slow and failed reconciles.

The numbers are those of `/metrics`, as they are now. Other replicas show their own; the Leases say who leads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from math import isinf
from typing import Final

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import LEASE
from homeostat.objects.time.timestamp import format_time
from homeostat.runtime.telemetry.state import ControllerState, OperatorState, ReadStates, WatchState
from homeostat.web.dashboard.html.command import command, nothing
from homeostat.web.dashboard.html.components import (
    Row,
    chip,
    facts,
    heading,
    many,
    moment,
    one_line,
    row,
    seconds,
    table,
)
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.objects.kinds import ServedKinds, object_path
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.refusal import unknown

TITLE: Final = "Operators"
HERE: Final = f"{ROOT}/operators"
_PREFIX: Final = "homeostat-"
_NODES: Final = "homeostat-node-"
_SLOW_S: Final = 5.0
_MOST: Final = 200


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str = ""
    renew_time: str = ""
    acquire_time: str = ""
    lease_transitions: int = 0


class _LeaseMetadata(msgspec.Struct, frozen=True):
    name: str


class _Lease(msgspec.Struct, frozen=True):
    metadata: _LeaseMetadata
    spec: _LeaseSpec = _LeaseSpec()


class _Leases(msgspec.Struct, frozen=True):
    items: list[_Lease]


_leases = msgspec.json.Decoder(_Leases)


class Operators:
    def __init__(
        self,
        client: Client,
        states: ReadStates,
        leases: str,
        *,
        is_plane: bool,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client, self._states, self._leases, self._is_plane = client, states, leases, is_plane
        self._now = now
        self._kinds = ServedKinds(client)

    async def show(self, visit: Visit) -> Page:
        states = sorted(self._states(), key=_order)
        body: Node = nothing("This process runs no operators. To run some:", "homeostat run --operators all")
        if states:
            headings = (
                "Operator",
                "State",
                "Leader",
                "Queue",
                "Retries",
                "Reconciles",
                "Slowest",
                "Watches",
            )
            body = table("Operators", headings, [_row(each, self._now()) for each in states], class_="operators")
        sleeping = "A sleeping operator starts with the first object of its kinds. "
        how = el(
            "p",
            sleeping if any(not each.is_awake for each in states) else None,
            "The same numbers for Prometheus: ",
            # Beside a cluster, /metrics of the API server has other numbers.
            command("homeostat get --raw /metrics" if self._is_plane else "homeostat run --health 0.0.0.0:8081"),
            None if self._is_plane else " serves them at /metrics",
            class_="note",
        )
        return Page(TITLE, [el("h1", TITLE), body, await self._elections(), how], TITLE)

    async def show_one(self, visit: Visit) -> Page:
        name = visit.captured["name"]
        found = next((each for each in self._states() if each.name == name), None)
        if found is None:
            raise unknown(f"this process runs no operator {name}")
        title = el("h1", found.name, " ", _state_chip(found))
        troubles = [el("p", one_line(each), class_="trouble", role="alert") for each in found.troubles]
        content: list[Node] = [
            el("p", el("a", TITLE, href=HERE), class_="crumbs"),
            el("div", title, class_="title"),
            troubles,
            _facts(found),
            _controllers(found.controllers) if found.is_awake else _asleep(found),
            await self._failures(found.controllers),
            _watches(found.watches, self._now()),
        ]
        return Page(name, content, TITLE)

    async def summary(self, visit: Visit) -> Node:
        """Only if something is wrong."""
        troubled = [each for each in self._states() if each.troubles or _failing(each)]
        if not troubled:
            return None
        rows = [
            row(
                f"operator-{each.name}",
                el("a", each.name, href=f"{HERE}/{each.name}"),
                _state_chip(each),
                many(_failing(each), "failing object"),
                el("span", one_line("; ".join(each.troubles)), class_="why"),
            )
            for each in troubled
        ]
        return el(
            "section", heading(TITLE), table("Operators in trouble", ("Operator", "State", "Failing", "Trouble"), rows)
        )

    async def _failures(self, controllers: Sequence[ControllerState]) -> Node:
        total = sum(each.failing for each in controllers)
        if not total:
            return None
        rows = [
            row(
                f"failure-{each.name}-{at}",
                await self._linked(one.object),
                each.name,
                el("span", one_line(one.reason), class_="why"),
            )
            for each in controllers
            for at, one in enumerate(each.failures)
        ]
        listed = "" if len(rows) >= total else f"; the first {len(rows)} are listed"
        note = el("p", f"{many(total, 'failing object')}{listed}.", class_="summary")
        return el(
            "section", heading("Last errors"), note, table("Last errors", ("Object", "Controller", "Error"), rows)
        )

    async def _linked(self, text: str) -> Node:
        """`Mailbox.resources.homeostat.dev shop/support` as a link to the object, if the server has the kind."""
        kind, _, where = text.partition(" ")
        namespace, _, name = where.rpartition("/")
        title, _, group = kind.partition(".")
        try:
            kinds = await self._kinds.listed()
        except (ApiError, UnreachableError):
            return text
        found = next((each for each in kinds if (each.kind, each.group) == (title, group)), None)
        if found is None or not name or bool(namespace) != found.is_namespaced:
            return text
        return [el("a", where, href=object_path(found, namespace, name)), el("span", found.kind, class_="note")]

    async def _elections(self) -> Node:
        if not self._leases:
            return None
        try:
            found = _leases.decode(await self._client.fetch("GET", LEASE.path(self._leases), {"limit": 500})).items
        except (ApiError, msgspec.ValidationError):
            return None
        ours = [
            each
            for each in found
            if each.metadata.name.startswith(_PREFIX) and not each.metadata.name.startswith(_NODES)
        ]
        rows = [
            row(
                f"lease-{each.metadata.name}",
                each.metadata.name.removeprefix(_PREFIX),
                el("code", each.spec.holder_identity or "nobody"),
                moment(each.spec.acquire_time),
                moment(each.spec.renew_time),
                each.spec.lease_transitions,
            )
            for each in ours[:_MOST]
        ]
        headings = ("Operator", "Leader", "Since", "Renewed", "Changes of leader")
        return el("section", heading("Leaders"), table("Leaders", headings, rows)) if rows else None


def operators_section(client: Client, states: ReadStates, *, leases: str, is_plane: bool) -> Section:
    pages = Operators(client, states, leases, is_plane=is_plane)
    return Section(
        title=TITLE,
        path=HERE,
        views={HERE: pages.show, f"{HERE}/{{name}}": pages.show_one},
        summary=pages.summary,
        is_for_administrators=True,
    )


def paused_notice() -> Markup:
    """For all pages: what they show is old, and their buttons only note what somebody wants."""
    return el(
        "div",
        el("strong", "Operators are paused."),
        " This database was restored from a backup, and the original plane may still run. Nothing is reconciled, and "
        "states are those of the backup. If this plane takes over, start it once with ",
        command("homeostat up --resume-effects"),
        class_="notice",
        role="status",
    )


def _order(state: OperatorState) -> tuple[bool, bool, bool, str]:
    return not state.troubles, not _failing(state), not state.is_awake, state.name


def _state_chip(state: OperatorState) -> Markup:
    if state.troubles:
        return chip("in trouble", "bad")
    if not state.is_awake:
        return chip("asleep", "phase-pending")
    if state.is_paused:
        return chip("paused", "warn")
    if count := _failing(state):
        return chip(f"{count:,} failing", "warn")
    return chip("working", "good") if state.is_leading else chip("standby", "phase-reconciling")


def _failing(state: OperatorState) -> int:
    """Objects whose last reconciliation ended in an error."""
    return sum(each.failing for each in state.controllers)


def _leader(state: OperatorState) -> Node:
    if not state.is_awake:
        return "–"
    if not state.leader:
        return "this process"
    return "this process" if state.is_leading else el("code", state.leader)


def _row(state: OperatorState, now: datetime) -> Row:
    controllers = state.controllers
    waiting, working = sum(each.depth for each in controllers), sum(each.working for each in controllers)
    oldest = max((each.age_s for each in state.watches), default=0.0)
    failing = _failing(state)
    # Simulated workloads and passes over images have queues of their own: a 0 would say that nothing happens.
    uncounted = None if controllers else el("span", "not counted" if state.is_awake else "–", class_="quiet")
    return row(
        f"operator-{state.name}",
        [el("a", state.name, href=f"{HERE}/{state.name}"), _trouble("; ".join(state.troubles))],
        _state_chip(state),
        _leader(state),
        uncounted or [f"{waiting:,} waiting", el("span", f"{working:,} running", class_="note")],
        uncounted
        or [
            f"{sum(each.retries for each in controllers):,}",
            el("span", f"{failing:,} failing", class_="note") if failing else None,
        ],
        uncounted or f"{sum(sum(each.outcomes.values()) for each in controllers):,}",
        _slowest(max((each.slowest_s for each in controllers), default=0.0)),
        [f"{len(state.watches):,}", el("span", "last event ", _last_event(oldest, now), class_="note")]
        if state.watches
        else "–",
    )


def _trouble(text: str) -> Node:
    return el("span", one_line(text), class_="why") if text else None


def _slowest(bound: float) -> Node:
    if not bound:
        return "–"
    text = "over 5 min" if isinf(bound) else f"up to {seconds(bound)}"
    return chip(text, "warn") if bound > _SLOW_S else text


def _facts(state: OperatorState) -> Markup:
    return facts(
        ("Leader", _leader(state)),
        ("This process", el("code", state.identity) if state.identity else ""),
        ("Controllers", len(state.controllers) or ""),
        ("Watches", len(state.watches) or ""),
        ("Objects in memory", f"{sum(each.objects for each in state.watches):,}" if state.watches else ""),
    )


def _asleep(state: OperatorState) -> Markup:
    return nothing(
        "The operator sleeps: no object that it works on exists yet. It wakes by itself. To see the kinds it knows:",
        f"homeostat crds {state.name}",
    )


def _controllers(controllers: Sequence[ControllerState]) -> Node:
    if not controllers:
        return None
    rows = [
        row(
            f"controller-{each.name}",
            each.name,
            f"{each.depth:,}",
            f"{each.delayed:,}",
            f"{each.working:,}",
            seconds(each.oldest_wait_s) if each.oldest_wait_s else "–",
            f"{each.retries:,}",
            chip(f"{each.trips:,}", "warn") if each.trips else "0",
            ", ".join(f"{count:,} {word}" for word, count in sorted(each.outcomes.items())) or "none yet",
            seconds(each.mean_s) if each.mean_s else "–",
            _slowest(each.slowest_s),
        )
        for each in controllers
    ]
    headings = (
        "Controller",
        "Waiting",
        "Delayed",
        "Running",
        "Longest wait",
        "Retries",
        "Held back",
        "Reconciles",
        "Mean",
        "p99",
    )
    return el("section", heading("Queues and reconciles"), table("Queues and reconciles", headings, rows))


def _last_event(age_s: float, now: datetime) -> Node:
    """A watch that never began has had none."""
    return "none yet" if isinf(age_s) else moment(format_time(now - timedelta(seconds=age_s)))


def _watches(watches: Sequence[WatchState], now: datetime) -> Node:
    if not watches:
        return None
    ordered = sorted(watches, key=lambda each: (not each.trouble, -each.age_s))
    rows = [
        row(
            f"watch-{at}",
            [el("code", each.path), _trouble(each.trouble)],
            chip(
                each.state,
                "bad" if each.trouble else "good" if each.state in ("streaming", "watching") else "phase-pending",
            ),
            _last_event(each.age_s, now),
            f"{each.objects:,}",
            f"{each.restarts:,}",
            f"{each.relists:,}",
            chip(f"{each.unreadable:,}", "warn") if each.unreadable else "0",
        )
        for at, each in enumerate(ordered[:_MOST])
    ]
    headings = ("Watch", "State", "Last event", "Objects", "Reopened", "Relisted", "Unreadable")
    return el("section", heading("Watches"), table("Watches", headings, rows, class_="watches"))
