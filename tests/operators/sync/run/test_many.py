"""A sync of more changes than are kept in memory, with limits that are as small as its cases."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.operators.sync.run import prepare
from tests.operators.sync.cases import Rest
from tests.operators.sync.run.syncing import became, objects, writes
from tests.operators.sync.run.test_run import files, policy


async def test_very_many_changes_keep_no_values_and_are_read_again(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MOST_KEPT", 1), ("_BATCH", 2), ("_MOST_LISTED", 2)):
        monkeypatch.setattr(prepare, name, most)
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
