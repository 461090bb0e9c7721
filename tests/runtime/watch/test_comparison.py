"""A watch held against a list by the server that follows a script, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import pytest

from homeostat.objects.errors import ExpiredError, ForbiddenError, UnavailableError
from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.watch.comparison import Comparison
from homeostat.runtime.watch.watcher import Pace
from homeostat.testing.clock import virtual_time
from tests.runtime.projections import pod
from tests.runtime.watch.test_watcher import QUIET, Followed, Script, Step, initial, line, mark, page, refused

HOURLY = Pace(backoff=Backoff(first_s=1, cap_s=8, spread=0), relist_every_s=3600)


class SlowPages(Script):
    """Each page is on its way for a while."""

    page_s = 20.0

    async def fetch(
        self, method: str, path: str, query: Mapping[str, object] | None = None, *, accept: str = ""
    ) -> bytes:
        body = await super().fetch(method, path, query, accept=accept)
        await asyncio.sleep(self.page_s)
        return body


class Compared(Followed):
    """A watcher and its comparison, which followed a script for a while."""

    def __init__(self, script: Script, pace: Pace) -> None:
        super().__init__(script, pace)
        self.comparison = Comparison(self.watcher, self.writer, pace=pace, chance=lambda: 0.0)


async def compare(script: Script, *, seconds: float = 3800.0, pace: Pace = HOURLY) -> Compared:
    compared = Compared(script, pace)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
            tasks.create_task(compared.watcher.run())
            tasks.create_task(compared.comparison.run())
    return compared


def beats(first: int, last: int) -> list[Step]:
    """A bookmark every 50 s. Where the stream began with version 1, number 72 is the last before the hour is over."""
    return [each for version in range(first, last) for each in (50.0, mark(version))]


@virtual_time
async def test_what_was_dropped_is_found_and_mended_while_the_watch_continues() -> None:
    web, old, db, kept = pod("web", 1), pod("old", 1), pod("db", 8), pod("kept", 1)
    newer = pod("web", 9)
    script = Script([*initial(1, web, old, kept), *beats(2, 99)], page(73, newer, db, kept))
    compared = await compare(script)
    assert (script.forms, script.asked_at) == (["stream", "list limit=500"], [0, 3600])
    assert compared.changes[3:] == [
        Change("shop", "old", old, None),
        Change("shop", "web", web, newer),
        Change("shop", "db", None, db),
    ]
    assert compared.listed[3:] == ["old", "web", "db"]
    assert (compared.held, compared.writer.cache.version) == (["db@8", "kept@1", "web@9"], 76)
    assert (compared.comparison.lists, compared.comparison.differences) == (1, 3)
    assert (compared.watcher.restarts, compared.watcher.relists) == (0, 0)


@virtual_time
async def test_what_events_deliver_while_the_pages_come_is_no_difference() -> None:
    held = [pod("changes", 1), pod("goes", 1), pod("comes-back", 1), pod("stays", 1)]
    meanwhile: list[Step] = [
        55.0,
        line("MODIFIED", pod("changes", 80)),
        line("ADDED", pod("comes", 81)),
        line("DELETED", pod("goes", 82)),
        line("DELETED", pod("comes-back", 83)),
        line("ADDED", pod("comes-back", 84)),
        line("ADDED", pod("short-lived", 85)),
        line("DELETED", pod("short-lived", 86)),
        b'{"type":"MODIFIED","object":{"metadata":{"name":"unreadable","namespace":"shop","resourceVersion":"87"},"node":1}}',
    ]
    script = SlowPages(
        [*initial(1, *held, pod("unreadable", 1)), *beats(2, 73), *meanwhile, *beats(88, 99)],
        page(79, *held[:2], token="more"),
        page(79, *held[2:], pod("unreadable", 1)),
    )
    compared = await compare(script)
    assert script.forms == ["stream", "list limit=500", "list limit=500 continue=more"]
    assert (compared.comparison.lists, compared.comparison.differences) == (1, 0)
    assert compared.listed == [each.metadata.name for each in held] + ["unreadable"]
    assert compared.held == ["changes@80", "comes-back@84", "comes@81", "stays@1"]


@virtual_time
async def test_a_watch_that_is_behind_the_list_is_waited_for() -> None:
    late: list[Step] = [70.0, line("MODIFIED", pod("web", 75)), line("DELETED", pod("db", 76)), 10.0, mark(80)]
    script = Script([*initial(1, pod("web", 1), pod("db", 1)), *beats(2, 73), *late, QUIET], page(79, pod("web", 75)))
    compared = await compare(script, seconds=3680)
    assert (compared.comparison.differences, compared.listed, compared.held) == (0, ["web", "db"], ["web@75"])
    assert compared.changes[2:] == [
        Change("shop", "web", pod("web", 1), pod("web", 75)),
        Change("shop", "db", pod("db", 1), None),
    ]


@virtual_time
async def test_a_watch_that_does_not_come_to_the_version_of_the_list_is_brought_there() -> None:
    stuck: list[Step] = [each for _ in range(50) for each in (50.0, mark(72))]
    script = Script([*initial(1, pod("web", 1)), *beats(2, 73), *stuck], page(90, pod("db", 85)))
    compared = await compare(script)
    assert script.forms == ["stream", "list limit=500"]
    assert (compared.held, compared.writer.cache.version) == (["db@85"], 90)
    # Nobody knows whether it was dropped or is only late.
    assert compared.comparison.differences == 0


@virtual_time
async def test_events_that_come_late_after_that_change_nothing() -> None:
    stuck: list[Step] = [each for _ in range(3) for each in (50.0, mark(72))]
    late = [line("MODIFIED", pod("web", 80)), line("DELETED", pod("web", 81)), line("ADDED", pod("db", 85))]
    script = Script([*initial(1, pod("web", 1)), *beats(2, 73), *stuck, *late, QUIET], page(90, pod("db", 85)))
    compared = await compare(script)
    assert (compared.held, len(compared.changes)) == (["db@85"], 3)


@pytest.mark.parametrize("error", [UnavailableError("busy"), ForbiddenError("no")], ids=str)
@virtual_time
async def test_a_list_that_fails_is_asked_for_again_while_the_watch_continues(error: Exception) -> None:
    script = Script([*initial(1, pod("web", 1)), *beats(2, 99)], error, page(75, pod("db", 4)))
    compared = await compare(script)
    assert (script.forms, script.asked_at) == (["stream", *["list limit=500"] * 2], [0, 3600, 3675])
    assert (compared.held, compared.watcher.restarts) == (["db@4"], 0)


@virtual_time
async def test_a_list_that_outlives_its_tokens_is_asked_for_in_one_piece() -> None:
    script = Script(
        [*initial(1, pod("web", 1)), *beats(2, 99)],
        page(73, pod("web", 1), token="t"),
        ExpiredError("old"),
        page(74, pod("web", 1)),
    )
    compared = await compare(script)
    assert script.forms == ["stream", "list limit=500", "list limit=500 continue=t", "list"]
    assert (compared.held, compared.comparison.differences) == (["web@1"], 0)


@virtual_time
async def test_a_list_that_the_watch_makes_meanwhile_takes_its_place() -> None:
    anew: list[Step] = [*initial(95, pod("new", 94)), *beats(96, 99), QUIET]
    script = SlowPages(
        [*initial(1, pod("web", 1)), *beats(2, 73), 55.0, refused(ExpiredError("too old"))],
        page(79, pod("web", 1), pod("db", 78)),
        anew,
    )
    compared = await compare(script)
    assert script.forms == ["stream", "list limit=500", "stream"]
    assert (compared.held, compared.comparison.differences) == (["new@94"], 0)


@virtual_time
async def test_nothing_is_compared_while_there_is_no_watch() -> None:
    away = [UnavailableError("away")] * 10
    script = Script([*initial(1, pod("web", 1)), *beats(2, 72), refused(ExpiredError("x"))], *away)
    compared = await compare(script, seconds=3610)
    assert "list limit=500" not in script.forms
    assert compared.comparison.lists == 0


@virtual_time
async def test_a_list_older_than_what_was_seen_is_of_a_server_put_back_and_is_the_state() -> None:
    script = Script([*initial(1, pod("web", 1)), *beats(2, 73), QUIET], page(40, pod("db", 30)), [QUIET])
    compared = await compare(script, seconds=3602)
    assert (compared.held, compared.writer.cache.version) == (["db@30"], 40)


@virtual_time
async def test_comparisons_continue() -> None:
    lists = [page(version, pod("web", 1)) for version in (75, 145, 220)]
    script = Script([*initial(1, pod("web", 1)), *beats(2, 999)], *lists)
    compared = await compare(script, seconds=11_500)
    assert (compared.comparison.lists, compared.watcher.restarts) == (3, 0)
