from datetime import timedelta

import pytest

from homeostat.objects.conditions import Condition
from homeostat.objects.decision import Decision, Stalled, Wait

READY = Condition("Ready", "True", "Up")


def test_a_decision_without_actions_is_settled() -> None:
    assert Decision[str](conditions=(READY,)).is_settled
    assert not Decision(actions=("push",)).is_settled


def test_only_a_settled_decision_may_say_ready() -> None:
    with pytest.raises(ValueError, match="only a decision without actions may"):
        Decision(actions=("push",), conditions=(READY,))
    assert Decision(actions=("push",), conditions=(Condition("Ready", "False", "Pushing"),)).actions == ("push",)


@pytest.mark.parametrize("after", [timedelta(), timedelta(seconds=-1)])
def test_a_requeue_is_ahead(after: timedelta) -> None:
    with pytest.raises(ValueError, match="requeue_after"):
        Decision[str](requeue_after=after)


def test_decisions_are_equal_by_value() -> None:
    assert Decision(("push",), status={"commit": "abc"}) == Decision(("push",), status={"commit": "abc"})
    assert Decision(("push",)) != Decision(("pull",))


def test_wait_and_stalled_say_why() -> None:
    wait = Wait("ImageNotPublished", timedelta(seconds=30), message="web:1.4 is not in the registry yet")
    assert (wait.reason, wait.after.total_seconds(), str(wait)) == (
        "ImageNotPublished",
        30,
        "web:1.4 is not in the registry yet",
    )
    assert str(Stalled("BadSpec")) == "BadSpec"
