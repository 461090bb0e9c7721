"""`/dashboard/sync`: all SyncPolicies, the worst state first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from homeostat.operators.sync.api.policy import SYNC_POLICY, SyncPolicy
from homeostat.web.dashboard.html.command import nothing
from homeostat.web.dashboard.html.components import Row, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import ListQuery, cut, filter_form, pager, place, summary, tabs
from homeostat.web.dashboard.link import create_links, several_note
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.watched import Derived, Watched
from homeostat.web.sync.dashboard.state import STATES, Next, PolicyRow, next_run, order_of, row_of, state_chip

HERE: Final = f"{ROOT}/sync"
REPOSITORIES: Final = f"{HERE}/repositories"
SERVERS: Final = f"{HERE}/servers"
TITLE: Final = "Sync"
Clock = Callable[[], datetime]


def sync_tabs(current: str) -> Markup:
    return tabs(TITLE, (("Policies", HERE), ("Repositories", REPOSITORIES), ("Servers", SERVERS)), current)


def policy_path(namespace: str, name: str) -> str:
    return f"{HERE}/policies/{namespace}/{name}"


class Policies:
    def __init__(self, watched: Watched, now: Clock = lambda: datetime.now(UTC)) -> None:
        self._watched, self._now = watched, now
        self._derived: Derived[SyncPolicy, PolicyRow] = Derived(row_of)

    async def show(self, visit: Visit) -> Page:
        query = read_query(visit.request, ListQuery)
        rows = await self.worst(visit)
        found = [each for each in rows if _matches(each, query)]
        shown = cut(found, query.page)
        counts = Counter(each.state for each in rows)
        body: Node = nothing(
            "No SyncPolicies match."
            if rows
            else "No SyncPolicies are declared. Describe a repository, a server, a secret store, a policy, and apply:",
            *(() if rows else ("homeostat explain syncpolicy.spec", "homeostat apply -f sync.yaml")),
            links=None if rows else await create_links(visit, SYNC_POLICY.kind),
        )
        if shown.items:
            body = [policy_table(shown.items, self._now()), pager(HERE, query.fields, shown)]
        content: list[Node] = [
            el("h1", TITLE),
            sync_tabs("Policies"),
            state_tiles(counts, len(rows)) if rows else None,
            filter_form(HERE, query, states=STATES, namespaces=_namespaces(rows), word="name, path or server")
            if rows
            else None,
            summary(shown, "policy", "policies") if rows else None,
            body,
            await several_note(visit, SYNC_POLICY.kind) if shown.items else None,
        ]
        return Page(TITLE, content, TITLE)

    async def worst(self, visit: Visit) -> list[PolicyRow]:
        cache = await self._watched.all(SYNC_POLICY.kind, SyncPolicy)
        every = self._derived.of(cache) if cache is not None else []
        return sorted((each for each in every if visit.sees(each.policy.metadata.namespace)), key=order_of)


def state_tiles(counts: Counter[str], total: int) -> Markup:
    """One for each state that occurs, which leads to the policies in it."""
    tiles = [_tile("policy" if total == 1 else "policies", total, HERE, "all")]
    tiles += [
        _tile(each, counts[each], place(HERE, {"state": each}), f"state-{each}") for each in STATES if counts[each]
    ]
    return el("ul", tiles, class_="tiles", aria_label="Policies by state")


def _tile(word: str, count: int, where: str, look: str) -> Markup:
    inside = (el("span", f"{count:,}", class_="number"), el("span", word, class_=f"word {look}"))
    return el("li", el("a", inside, href=where, class_="tile"), id=f"tile-{word}")


def policy_table(rows: Sequence[PolicyRow], now: datetime) -> Markup:
    headings = ("Policy", "State", "From and to", "Resources", "Drift", "Last sync", "Next", "Message")
    return table("SyncPolicies", headings, [_row(each, next_run(each, now)) for each in rows], class_="syncs")


def _row(each: PolicyRow, due: Next) -> Row:
    where, spec, status = each.policy.metadata, each.policy.spec, each.status
    repository, server = spec.resource_repository_ref.name, spec.managed_server_ref.name
    ready = next((one for one in status.conditions if one.type == "Ready"), None)
    return row(
        f"sync-{where.uid}",
        [el("a", where.name, href=policy_path(where.namespace, where.name)), _note(where.namespace)],
        state_chip(each.state),
        [
            el("code", spec.source.path),
            _note(
                [
                    el("a", repository, href=f"{REPOSITORIES}/{where.namespace}/{repository}"),
                    " → ",
                    el("a", server, href=f"{SERVERS}/{where.namespace}/{server}"),
                ]
            ),
        ],
        resources_text(each),
        drift_text(each),
        moment(status.last_successful_sync_time, "never"),
        [moment(due.time) if due.time else None, _note(due.why)],
        el("span", one_line(ready.message if ready is not None else ""), class_="why"),
    )


def resources_text(each: PolicyRow) -> str:
    stats = each.status.resource_stats
    return f"{stats.applied:,} of {stats.targeted:,}" if stats is not None else "–"


def drift_text(each: PolicyRow) -> str:
    return f"{each.status.drifted:,}" if each.status.drifted else ("none" if each.status.resource_stats else "–")


def _note(text: Node) -> Markup:
    return el("span", text, class_="note")


def _matches(each: PolicyRow, query: ListQuery) -> bool:
    where, spec, word = each.policy.metadata, each.policy.spec, query.q.strip().lower()
    texts = (where.name, spec.source.path, spec.managed_server_ref.name, spec.resource_repository_ref.name)
    return (
        query.state in ("", each.state)
        and query.namespace in ("", where.namespace)
        and (not word or any(word in each.lower() for each in texts))
    )


def _namespaces(rows: Sequence[PolicyRow]) -> list[str]:
    return sorted({each.policy.metadata.namespace for each in rows})
