"""When a resource is due, why, and by which hash a declaration is known."""

from __future__ import annotations

from datetime import timedelta

import pytest

from homeostat.objects.time.timestamp import format_time
from homeostat.operators.actions.api import Keep, ResourceStatus
from homeostat.operators.actions.digest import declaration_digest, digest_of
from homeostat.operators.actions.runs.sweep import HistorySweep, Kept, KeptMetadata, KeptSpec
from homeostat.operators.actions.schedule import Delays, after, requested_delay_s, retry_delay_s, trigger_of
from tests.operators.actions.lifecycle import START

PAST, FUTURE = format_time(START - timedelta(hours=1)), format_time(START + timedelta(hours=1))
DONE = ResourceStatus(phase="ready", attempted_digest="a", next_run=FUTURE, handled_request="seen")


@pytest.mark.parametrize(
    ("status", "digest", "requested", "is_terminating", "expected"),
    [
        pytest.param(ResourceStatus(), "a", "", False, "initial", id="never-tried"),
        pytest.param(DONE, "b", "", False, "spec_change", id="another-declaration"),
        pytest.param(DONE, "a", "", True, "deletion", id="deleted"),
        pytest.param(
            ResourceStatus(phase="failed", attempted_digest="a", next_run=PAST), "a", "", False, "retry", id="failed"
        ),
        pytest.param(
            ResourceStatus(phase="ready", attempted_digest="a", next_run=PAST), "a", "", False, "scheduled", id="due"
        ),
        pytest.param(DONE, "a", "again", False, "manual", id="asked-for"),
        pytest.param(DONE, "a", "seen", False, None, id="asked-for-before"),
        pytest.param(DONE, "a", "", False, None, id="not-due"),
        pytest.param(
            ResourceStatus(phase="failed", attempted_digest="a", next_run=FUTURE), "a", "", False, None, id="waiting"
        ),
        pytest.param(
            ResourceStatus(phase="deleting", attempted_digest="a", next_run=FUTURE), "a", "", True, None, id="waits"
        ),
        pytest.param(
            ResourceStatus(phase="deleting", attempted_digest="a", next_run=FUTURE),
            *("a", "again", True, "deletion"),
            id="destruction-asked-for",
        ),
    ],
)
def test_the_first_reason_that_holds_is_the_trigger(
    status: ResourceStatus, digest: str, requested: str, is_terminating: bool, expected: str | None
) -> None:
    found = trigger_of(status, digest=digest, requested=requested, is_terminating=is_terminating, now=START)
    assert found == expected


@pytest.mark.parametrize(("retries", "low", "high"), [(0, 54, 66), (3, 432, 528), (20, 3240, 3960)])
def test_a_delay_lies_within_its_jitter(retries: int, low: float, high: float) -> None:
    delays = [retry_delay_s(Delays(), retries, chance / 100) for chance in range(100)]
    assert low <= min(delays) < max(delays) <= high


def test_the_order_of_keys_does_not_change_a_hash() -> None:
    one = digest_of({"key": "value", "number": 42})
    assert one == digest_of({"number": 42, "key": "value"})
    assert one != digest_of({"key": "different"})
    assert len(one) == 64


def test_plugin_and_configuration_are_part_of_a_declaration() -> None:
    digests = {
        declaration_digest({"a": 1}, "http", {}),
        declaration_digest({"a": 1}, "command", {}),
        declaration_digest({"a": 1}, "http", {"b": 1}),
    }
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(None, 300), (30, 30), (0, 1), (-5, 1), (float("nan"), 300), (float("inf"), 366 * 86_400), (1e300, 366 * 86_400)],
)
def test_what_a_plugin_asks_for_is_a_time_within_reason(asked: float | None, expected: float) -> None:
    assert requested_delay_s(asked, 300) == expected
    assert after(START, requested_delay_s(asked, 300)) > format_time(START)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (60, "2026-01-01T00:01:00.000000Z"),
        (60.001, "2026-01-01T00:01:00.100000Z"),
        (59.95, "2026-01-01T00:01:00.000000Z"),
    ],
)
def test_the_next_run_is_at_a_tenth_of_a_second_and_never_earlier(seconds: float, expected: str) -> None:
    assert after(START, seconds) == expected


def kept(name: str, uid: str, hours: float) -> Kept:
    spec = KeptSpec("Thing", uid, format_time(START - timedelta(hours=hours)))
    return Kept(KeptMetadata(name), spec)


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (Keep(entries=2), {"a3"}),
        (Keep(max_age_days=1), {"b30"}),
        (Keep(entries=1), {"a2", "a3", "b30"}),
        (Keep(), set()),
    ],
    ids=["too-many", "too-old", "both", "all-may-stay"],
)
def test_what_is_too_old_or_too_many_goes_by_resource(keep: Keep, expected: set[str]) -> None:
    held = [kept("a3", "a", 3), kept("a1", "a", 1), kept("b30", "b", 30), kept("a2", "a", 2), kept("b1", "b", 1)]
    sweep_of = HistorySweep(lambda _: keep, now=START)
    assert {each.metadata.name for each in [*sweep_of.take(held), *sweep_of.end()]} == expected
