"""A sync of more changes than are kept in memory, with limits that are as small as its cases."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.plan.changes import full_plan
from homeostat.operators.sync.run import prepare
from homeostat.operators.sync.run.execute import execute
from homeostat.operators.sync.run.prepare import make_plan
from homeostat.operators.sync.session import session
from homeostat.operators.sync.session.remote import list_items
from tests.operators.sync.cases import Rest
from tests.operators.sync.run.syncing import became, objects, writes
from tests.operators.sync.run.test_run import files, policy


async def test_very_many_changes_keep_no_values_and_are_read_again(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MOST_KEPT", 1), ("_BATCH", 2), ("MOST_LISTED", 2)):
        monkeypatch.setattr(prepare, name, most)
    monkeypatch.setattr(session, "MOST_LISTED", 2)
    state: dict[str, Any] = {"collections": {"/t": {}, "/u": {}}}
    policy_ = policy(rest, state)
    policy_.source = "/"
    needy = {"u/z/resource.json": {"id": "z", "t": "c"}}
    created = {**needy, **files(a={}, b={}, c={})}
    assert set(became(await policy_.sync(created)).values()) == {"created"}
    order = [each[1] for each in writes(rest)]
    assert order.index("/u") > order.index("/t")
    assert len(order) == 4
    assert set(became(await policy_.sync(created)).values()) == {"unchanged"}
    changed = {**needy, **files(a={"v": 1}, b={"v": 1}, c={"v": 1})}
    assert list(became(await policy_.sync(changed)).values()) == ["updated"] * 3 + ["unchanged"]
    assert objects(rest)["/t/c"] == {"id": "c", "v": 1}
    rest.call("PUT", "/_/objects/t/c", {"id": "c", "v": 2})

    def change() -> None:
        rest.call("PUT", "/_/objects/t/c", {"id": "c", "v": 3})

    report = await policy_.sync(changed, before_execution=change)
    # It is the first that differs, so it is kept, and its update wins.
    assert became(report)["/t/c"] == "updated"
    for each in "abc":
        rest.call("PUT", f"/_/objects/t/{each}", {"id": each, "v": 2})
    report = await policy_.sync(changed, before_execution=change)
    assert "the object was changed while the sync was running" in next(each.message for each in report.failed)
    assert objects(rest)["/t/c"]["v"] == 3


_ALIASES = b"resource: {id: /id, alias: /name}\n"


def _lists(rest: Rest) -> dict[str, int]:
    log = rest.call("GET", "/_/requests")
    rest.call("DELETE", "/_/requests")
    return Counter(each["path"] for each in log if each["method"] == "GET")


async def test_workers_that_need_the_same_list_share_it(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "MOST_KEPT", 1)
    for module in (prepare, session):
        monkeypatch.setattr(module, "MOST_LISTED", 2)
    names = [f"n{number}" for number in range(8)]
    stored = {f"/t/{number}": {"id": str(number), "name": name, "v": 0} for number, name in enumerate(names)}
    policy_ = policy(rest, {"objects": stored})
    declared: dict[str, Any] = {f"t/{name}/resource.json": {"name": name, "v": 1} for name in names}
    async with policy_.session({"t/_/metadata.yaml": _ALIASES, **declared}) as opened:
        prepared = await make_plan(
            opened, full_plan("/t", ""), policy_.options, policy_.record, source="/t", now=policy_.now
        )
        assert (len(prepared.compared), opened.lists) == (1, {})
        _lists(rest)
        report, _ = await execute(opened, prepared, policy_.record, now=lambda: policy_.now)
        assert (opened.lists, opened.listing) == ({}, {})
    assert set(became(report).values()) == {"updated"}
    assert _lists(rest)["/t"] == 1


async def test_a_list_that_was_forgotten_while_it_was_read_is_read_again(rest: Rest) -> None:
    policy_ = policy(rest, {"objects": {"/t/a": {"id": "a"}}})
    async with policy_.session({}) as opened:
        first = asyncio.create_task(list_items(opened, "/t"))
        await asyncio.sleep(0)
        assert opened.listing
        opened.forget("/t")
        second = asyncio.create_task(list_items(opened, "/t"))
        third = asyncio.create_task(list_items(opened, "/t"))
        assert [[each.id for each in await task] for task in (first, second, third)] == [["a"]] * 3
        assert opened.lists["/t"] is await second is await third
    assert _lists(rest)["/t"] == 2


async def test_those_that_waited_for_a_list_that_failed_read_their_own(rest: Rest) -> None:
    policy_ = policy(rest, {"objects": {"/t/a": {"id": "a"}}})
    async with policy_.session({}) as opened:
        first = asyncio.create_task(list_items(opened, "/t"))
        await asyncio.sleep(0)
        assert opened.listing
        second = asyncio.create_task(list_items(opened, "/t"))
        await asyncio.sleep(0)
        first.cancel()
        assert [each.id for each in await second] == ["a"]
        assert (list(opened.lists), opened.listing) == (["/t"], {})


async def test_a_list_that_needs_itself_is_an_error(rest: Rest) -> None:
    policy_ = policy(rest, {"objects": {"/t/1": {"id": "1", "name": "a"}}})
    program = b"operations: {list: {transforms: [{jqExpression: 'resource(\"/t/a/u/x\")'}]}}\n"
    async with policy_.session({"t/_/metadata.yaml": _ALIASES + program}) as opened:
        with pytest.raises(ValidationError, match="the list of /t needs itself"):
            await list_items(opened, "/t")
