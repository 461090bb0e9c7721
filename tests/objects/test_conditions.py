from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.conditions import (
    Condition,
    Status,
    find,
    is_true,
    remove_condition,
    set_condition,
    summarise,
)

EARLIER = datetime(2024, 2, 29, 12, 0, 0, tzinfo=UTC)
NOW = EARLIER + timedelta(hours=1)
EARLIER_TEXT, NOW_TEXT = "2024-02-29T12:00:00Z", "2024-02-29T13:00:00Z"

HELD = Condition("Ready", "False", "Building", "2 of 3", EARLIER_TEXT, 4)

CASES = {
    "a first one gets the time": ((), Condition("Ready", "True", "Up"), Condition("Ready", "True", "Up", "", NOW_TEXT)),
    "a first one may bring its own time": (
        (),
        Condition("Ready", "True", "Up", "", EARLIER_TEXT),
        Condition("Ready", "True", "Up", "", EARLIER_TEXT),
    ),
    "a new status moves the time": (
        (HELD,),
        Condition("Ready", "True", "Up", "", None, 5),
        Condition("Ready", "True", "Up", "", NOW_TEXT, 5),
    ),
    "a new status may bring its own time": (
        (HELD,),
        Condition("Ready", "True", "Up", "", "2024-01-01T00:00:00Z"),
        Condition("Ready", "True", "Up", "", "2024-01-01T00:00:00Z"),
    ),
    "a new reason, message and generation do not": (
        (HELD,),
        Condition("Ready", "False", "Pulling", "3 of 3", None, 5),
        Condition("Ready", "False", "Pulling", "3 of 3", EARLIER_TEXT, 5),
    ),
    "the same status keeps its time over one that is brought": (
        (HELD,),
        Condition("Ready", "False", "Building", "2 of 3", NOW_TEXT, 4),
        HELD,
    ),
    "a missing time is filled in": (
        (Condition("Ready", "False", "Building"),),
        Condition("Ready", "False", "Building"),
        Condition("Ready", "False", "Building", "", NOW_TEXT),
    ),
}


@pytest.mark.parametrize(("current", "new", "wanted"), CASES.values(), ids=CASES)
def test_a_condition_is_set(current: tuple[Condition, ...], new: Condition, wanted: Condition) -> None:
    assert set_condition(current, new, now=NOW) == (wanted,)


def test_a_condition_keeps_its_place_and_leaves_the_others() -> None:
    others = Condition("Synced", "True"), Condition("Stalled", "False")
    done = set_condition((others[0], HELD, others[1]), Condition("Ready", "True", "Up"), now=NOW)
    assert [each.type for each in done] == ["Synced", "Ready", "Stalled"]
    assert (done[0], done[2]) == others


def test_a_type_that_stood_twice_stands_once() -> None:
    done = set_condition((HELD, HELD), Condition("Ready", "False", "Pulling"), now=NOW)
    assert done == (Condition("Ready", "False", "Pulling", "", EARLIER_TEXT),)


def test_conditions_are_found_tested_and_removed() -> None:
    conditions = HELD, Condition("Synced", "True")
    assert find(conditions, "Ready") is HELD
    assert find(conditions, "Missing") is None
    assert [is_true(conditions, each) for each in ("Ready", "Synced", "Missing")] == [False, True, False]
    assert remove_condition(conditions, "Ready") == (conditions[1],)
    assert remove_condition(conditions, "Missing") == conditions


def test_the_wire_has_every_field_that_kubernetes_wants() -> None:
    wire = b'{"type":"Ready","status":"True","reason":"Up","message":"","lastTransitionTime":"%s"}' % NOW_TEXT.encode()
    condition = Condition("Ready", "True", "Up", "", NOW_TEXT)
    assert msgspec.json.encode(condition) == wire
    assert msgspec.json.decode(wire, type=Condition) == condition
    assert b'"observedGeneration":4' in msgspec.json.encode(HELD)


def test_conditions_of_built_in_kinds_are_read() -> None:
    wire = b'{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}'
    assert msgspec.json.decode(wire, type=Condition) == Condition("Ready", "True")


def test_a_status_that_is_none_of_the_three_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"type":"Ready","status":"Maybe"}', type=Condition)


SUMMARIES: dict[str, tuple[dict[str, Status], Status, str]] = {
    "all true is true": ({"A": "True", "B": "True"}, "True", "Succeeded"),
    "one false is false": ({"A": "True", "B": "False"}, "False", "ofB"),
    "the first false one decides": ({"A": "False", "B": "False"}, "False", "ofA"),
    "false outweighs unknown": ({"A": "Unknown", "B": "False"}, "False", "ofB"),
    "one unknown is unknown": ({"A": "Unknown", "B": "True"}, "Unknown", "ofA"),
    "absent is unknown": ({"B": "True"}, "Unknown", "Pending"),
    "stalled is false": ({"A": "True", "B": "True", "Stalled": "True"}, "False", "ofStalled"),
    "stalled outweighs the others": ({"A": "False", "B": "True", "Stalled": "True"}, "False", "ofStalled"),
    "reconciling is unknown": ({"A": "True", "B": "True", "Reconciling": "True"}, "Unknown", "ofReconciling"),
    "reconciling does not hide a failure": ({"A": "False", "B": "True", "Reconciling": "True"}, "False", "ofA"),
    "an abnormal one that is false is good": ({"A": "True", "B": "True", "Stalled": "False"}, "True", "Succeeded"),
    "whether it is stalled is unknown": ({"A": "True", "B": "True", "Stalled": "Unknown"}, "Unknown", "ofStalled"),
    "others are not asked": ({"A": "True", "B": "True", "C": "False"}, "True", "Succeeded"),
}


@pytest.mark.parametrize(("statuses", "status", "reason"), SUMMARIES.values(), ids=SUMMARIES)
def test_ready_summarises_the_others(statuses: dict[str, Status], status: Status, reason: str) -> None:
    conditions = [Condition(name, each, f"of{name}") for name, each in statuses.items()]
    ready = summarise(conditions, ("A", "B"))
    assert (ready.type, ready.status, ready.reason) == ("Ready", status, reason)


def test_a_summary_of_other_types_has_another_name() -> None:
    degraded = Condition("Degraded", "True", "Slow", "p99 of 3 s")
    assert summarise([degraded], (), abnormal=("Degraded",), into="Healthy") == Condition(
        "Healthy", "False", "Slow", "p99 of 3 s"
    )


STATUS: st.SearchStrategy[Status] = st.sampled_from(["True", "False", "Unknown"])
NEW = st.builds(Condition, st.sampled_from("ABC"), STATUS, st.sampled_from(["X", "Y"]), st.sampled_from(["", "m"]))


@given(st.lists(NEW, max_size=20))
def test_the_time_of_a_condition_is_when_its_status_last_changed(news: list[Condition]) -> None:
    conditions: tuple[Condition, ...] = ()
    since: dict[str, tuple[Status, str]] = {}
    for hours, new in enumerate(news):
        moment = EARLIER + timedelta(hours=hours)
        conditions = set_condition(conditions, new, now=moment)
        if new.type not in since or since[new.type][0] != new.status:
            since[new.type] = new.status, moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert find(conditions, new.type) == msgspec.structs.replace(new, last_transition_time=since[new.type][1])
    assert {each.type: (each.status, each.last_transition_time) for each in conditions} == since
    assert [each.type for each in conditions] == list(since)


def set_all(current: tuple[Condition, ...], new: Iterable[Condition], moment: datetime) -> tuple[Condition, ...]:
    for each in new:
        current = set_condition(current, each, now=moment)
    return current


@given(st.lists(NEW), st.lists(NEW))
def test_setting_the_same_again_changes_nothing(current: list[Condition], new: list[Condition]) -> None:
    last = {each.type: each for each in new}.values()
    once = set_all(set_all((), current, EARLIER), last, EARLIER)
    assert set_all(once, last, NOW) == once


@given(st.lists(NEW), NEW)
def test_a_condition_set_and_removed_leaves_the_others(current: list[Condition], new: Condition) -> None:
    held = set_all((), current, EARLIER)
    removed = remove_condition(held, new.type)
    assert remove_condition(set_condition(held, new, now=NOW), new.type) == removed
