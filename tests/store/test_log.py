"""The plan of a batch, as tables."""

from __future__ import annotations

import pytest

from homeostat.store.base import Change, Delete, Draft, Event, Key, Put, Record, RevisionMismatchError
from homeostat.store.log import Joint, Outcome, events_of, plan
from tests.store.contract import draft, pod

AT_5 = Record(pod("a"), b"<5:x>", 5, 4)


def told(outcomes: list[Outcome]) -> list[str]:
    texts = []
    for outcome in outcomes:
        match outcome:
            case Event():
                texts.append(f"{outcome.type} {outcome.record.value.decode()} since {outcome.record.created}")
            case Record():
                texts.append(f"same {outcome.value.decode()}")
            case Joint():
                texts.append(" and ".join(told([*outcome.others, outcome.main])))
            case RevisionMismatchError():
                texts.append(f"refused {outcome.current.revision if outcome.current else 'nothing'}")
    return texts


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([Put(pod("b"), draft("y"), 0)], ["ADDED <10:y> since 10"], id="create"),
        pytest.param([Put(pod("a"), draft("y"), 5)], ["MODIFIED <10:y> since 4"], id="replace"),
        pytest.param([Delete(pod("a"), draft("y"), 5)], ["DELETED <10:y> since 4"], id="delete"),
        pytest.param([Put(pod("a"), draft("x"), 5)], ["same <5:x>"], id="no-op"),
        pytest.param([Put(pod("a"), Draft(b"<5:x>", b""), 5)], ["MODIFIED <5:x>10 since 4"], id="longer-than-no-op"),
        pytest.param(
            [Put(pod("a"), draft("y"), 5), Put(pod("a"), draft("z"), 5)],
            ["MODIFIED <10:y> since 4", "refused 10"],
            id="two-at-one-revision",
        ),
        pytest.param(
            [Put(pod("a"), draft("y"), 5), Put(pod("a"), draft("y"), 10)],
            ["MODIFIED <10:y> since 4", "same <10:y>"],
            id="no-op-on-what-is-pending",
        ),
        pytest.param(
            [Put(pod("a"), draft("x"), 1), Put(pod("b"), draft("y"), 0)],
            ["refused 5", "ADDED <10:y> since 10"],
            id="a-refusal-takes-no-revision",
        ),
        pytest.param(
            [Delete(pod("a"), draft("y"), 5), Put(pod("a"), draft("z"), 0), Delete(pod("a"), draft("z"), 5)],
            ["DELETED <10:y> since 4", "ADDED <11:z> since 11", "refused 11"],
            id="delete-and-create",
        ),
        pytest.param(
            [
                Put(pod("b"), draft("y"), 0, also=(Put(pod("a"), draft("z"), 5),)),
                Put(pod("c"), draft("y"), 0, also=(Put(pod("a"), draft("z"), 5),)),
                Delete(pod("b"), draft("y"), 11, also=(Put(pod("a"), draft("z"), 10),)),
            ],
            [
                "MODIFIED <10:z> since 4 and ADDED <11:y> since 11",
                "refused 10",
                "DELETED <12:y> since 11",
            ],
            id="together-or-not-at-all",
        ),
        pytest.param(
            [Delete(pod("a"), draft("y"), 5), Delete(pod("a"), draft("z"), 10)],
            ["DELETED <10:y> since 4", "refused nothing"],
            id="delete-twice",
        ),
    ],
)
def test_each_change_sees_those_before_it(batch: list[Change], expected: list[str]) -> None:
    assert told(plan(batch, 9, {AT_5.key: AT_5}.get)) == expected


def test_revisions_are_given_in_order_without_a_gap() -> None:
    outcomes = plan([Put(pod(str(each % 7)), draft("x"), 0) for each in range(20)], 100, lambda _: None)

    assert [event.record.revision for event in events_of(outcomes)] == list(range(101, 108))


def test_a_replaced_record_keeps_its_key_object() -> None:
    (outcome,) = plan([Put(Key("pods", "default", "a"), draft("y"), 5)], 9, {AT_5.key: AT_5}.get)

    assert isinstance(outcome, Event)
    assert outcome.record.key is AT_5.key
    assert outcome.previous is AT_5
