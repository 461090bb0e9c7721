"""What is written and deleted for the sake of an input, decided without a world."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeostat.objects.decision import Decision, Wait
from homeostat.objects.declared import Metadata
from homeostat.operators.actions.inputs.api import Prune, ResourceInput, ResourceInputSpec
from homeostat.operators.actions.inputs.decide import (
    DeletionWorld,
    InputAction,
    Key,
    ReadFailure,
    Remove,
    SourceWorld,
    Write,
    decide_input,
)
from homeostat.operators.actions.inputs.plugins.reading import Broken, Declaration, Reading
from homeostat.operators.actions.inputs.wanted import Live

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def an_input(**spec: object) -> ResourceInput:
    whole = {"plugin": "git", "interval_seconds": 60, **spec}
    return ResourceInput(metadata=Metadata("shop", "default"), spec=ResourceInputSpec(**whole))  # type: ignore[arg-type]


def declared(name: str, source: str = "f") -> Declaration:
    return Declaration(kind="Thing", version="v1", name=name, body={}, source=source)


def world(
    names: str, live: dict[str, Live], *, broken: tuple[Broken, ...] = (), refused: dict[Key, str] | None = None
) -> SourceWorld:
    return SourceWorld(
        now=NOW,
        reading=Reading(revision="r", declarations=tuple(map(declared, names)), broken=broken),
        kinds=frozenset({"Thing"}),
        live={("Thing", name): each for name, each in live.items()},
        refused=refused or {},
    )


def own(**more: object) -> Live:
    return Live(**{"uid": "u", "owner": "shop", "is_same": True, **more})  # type: ignore[arg-type]


def ready(decision: Decision[InputAction]) -> tuple[str, str]:
    (condition,) = decision.conditions
    return condition.status, condition.reason


def written(decision: Decision[InputAction]) -> dict[str, bool]:
    pairs = [zip(each.declarations, each.is_owned, strict=True) for each in decision.actions if isinstance(each, Write)]
    return {one.name: is_owned for each in pairs for one, is_owned in each}


def removed(decision: Decision[InputAction]) -> list[str]:
    return [name for each in decision.actions if isinstance(each, Remove) for _, name, _ in each.resources]


def test_what_lacks_or_differs_is_written_and_what_is_declared_no_more_goes() -> None:
    live = {"a": own(), "b": own(is_same=False), "d": own()}
    decision = decide_input(an_input(), world("abc", live))
    assert (written(decision), removed(decision), ready(decision)) == (
        {"b": True, "c": False},
        ["d"],
        ("Unknown", "Applying"),
    )
    assert decision.status["applied"] == 1


def test_when_all_is_as_declared_the_input_is_in_sync() -> None:
    decision = decide_input(an_input(), world("ab", {"a": own(), "b": own()}))
    assert (decision.actions, ready(decision)) == ((), ("True", "InSync"))


@pytest.mark.parametrize(
    ("live", "told"),
    [(own(owner="other"), 'belongs to the input "other"'), (own(owner=""), "was not created by an input")],
)
def test_what_is_somebody_else_s_is_not_changed_and_is_reported(live: Live, told: str) -> None:
    decision = decide_input(an_input(), world("a", {"a": live}))
    assert (decision.actions, ready(decision)) == ((), ("False", "Incomplete"))
    assert told in str(decision.status["errors"])
    assert removed(decide_input(an_input(prune=Prune(max_percent=100)), world("", {"a": live}))) == []


def test_while_a_part_cannot_be_understood_nothing_is_deleted() -> None:
    decision = decide_input(an_input(), world("a", {"a": own(), "b": own()}, broken=(Broken("x.yaml", "no"),)))
    assert (removed(decision), decision.status["pendingDeletions"]) == ([], 1)


@pytest.mark.parametrize(
    ("percent", "live", "left", "is_done"),
    [
        (50, 4, 2, True),
        (50, 4, 1, False),
        (50, 1, 0, True),
        (50, 2, 0, False),
        (100, 9, 0, True),
        (0, 3, 2, False),
        (50, 1000, 0, False),
    ],
)
def test_more_than_a_share_is_not_deleted_at_once(percent: int, live: int, left: int, is_done: bool) -> None:
    names = [chr(0x100 + at) for at in range(live)]
    decision = decide_input(
        an_input(prune=Prune(max_percent=percent)), world("".join(names[:left]), {each: own() for each in names})
    )
    assert len(removed(decision)) == (live - left if is_done else 0)
    if not is_done:
        assert (ready(decision), decision.status["pendingDeletions"]) == (("False", "PruneRefused"), live - left)
        assert [each.reason for each in decision.notices] == ["PruneRefused"]


def test_without_pruning_what_is_declared_no_more_stays_and_that_is_well() -> None:
    decision = decide_input(an_input(prune=Prune(is_enabled=False)), world("a", {"a": own(), "b": own()}))
    assert (decision.actions, ready(decision)) == ((), ("True", "InSync"))
    assert decision.status["pendingDeletions"] == 1


def test_of_two_declarations_of_one_resource_neither_counts_and_it_stays() -> None:
    seen = world("aab", {"a": own(is_same=False), "b": own()})
    decision = decide_input(an_input(prune=Prune(max_percent=100)), seen)
    assert (decision.actions, ready(decision)) == ((), ("False", "Incomplete"))
    assert "declared 2 times, in f" in str(decision.status["errors"])


def test_what_was_refused_is_reported_and_not_written_again_at_once() -> None:
    decision = decide_input(an_input(), world("a", {}, refused={("Thing", "a"): "spec.text is wrong"}))
    assert (decision.actions, decision.status["failed"]) == ((), 1)
    assert "spec.text is wrong" in str(decision.status["errors"])


def test_a_kind_that_nobody_has_defined_is_reported() -> None:
    seen = msgspec.structs.replace(world("a", {}), kinds=frozenset())
    decision = decide_input(an_input(), seen)
    assert (decision.actions, ready(decision)) == ((), ("False", "Incomplete"))


def test_what_is_going_is_waited_for() -> None:
    decision = decide_input(an_input(), world("a", {"a": own(is_terminating=True)}))
    assert decision.actions == ()
    assert decision.requeue_after is not None
    assert decision.requeue_after.total_seconds() == 10


def test_a_source_that_cannot_be_read_is_waited_for() -> None:
    seen = msgspec.structs.replace(world("", {"a": own()}), reading=ReadFailure("GitFailed", "away"))
    with pytest.raises(Wait) as wait:
        decide_input(an_input(), seen)
    assert (wait.value.reason, wait.value.after.total_seconds()) == ("GitFailed", 60)


@pytest.mark.parametrize(("policy", "gone"), [("Orphan", []), ("Delete", ["a"])])
def test_what_becomes_of_resources_when_the_input_goes(policy: str, gone: list[str]) -> None:
    live = {("Thing", "a"): own(), ("Thing", "b"): own(is_terminating=True), ("Thing", "c"): own(owner="x")}
    assert removed(decide_input(an_input(deletion_policy=policy), DeletionWorld(live))) == gone


LIVES = st.dictionaries(
    st.sampled_from("abcdef"),
    st.builds(
        Live,
        uid=st.just("u"),
        owner=st.sampled_from(["shop", "other", ""]),
        is_terminating=st.booleans(),
        is_same=st.booleans(),
    ),
)


@settings(deadline=None)
@given(st.text("abcdef", max_size=8), LIVES, st.integers(0, 100), st.booleans())
def test_acting_reaches_a_fixed_point_and_touches_only_the_input_s_own(
    names: str, live: dict[str, Live], percent: int, is_broken: bool
) -> None:
    obj = an_input(prune=Prune(max_percent=percent))
    broken = (Broken("x", "no"),) if is_broken else ()
    seen = world(names, live, broken=broken)
    first = decide_input(obj, seen)
    assert decide_input(obj, seen) == first
    assert all(live[name].owner == "shop" and name not in names for name in removed(first))
    assert all(live.get(name, own()).owner == "shop" for name in written(first))
    after = {name: each for name, each in live.items() if name not in removed(first)}
    after |= {name: own() for name in written(first)}
    # A second look may find that what is left is few enough to go: it ends when nothing of that sort is left.
    assert not written(decide_input(obj, world(names, after, broken=broken)))
