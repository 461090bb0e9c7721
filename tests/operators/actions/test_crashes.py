"""A process may die between any two steps: nothing is done twice, nothing is forgotten, and the end is the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.actions.world import ResourcePace
from tests.examples import examples
from tests.operators.actions.lifecycle import Elsewhere, Here, Life

PLUGINS: list[Callable[[], Here | Elsewhere]] = [
    Here,
    Elsewhere,
    lambda: Elsewhere(has_plan=True),
    lambda: Elsewhere(takes=0, hidden=3),
]
IDS = ["here", "elsewhere", "with-plan", "slow-to-show"]


def whole_life(plugin: Here | Elsewhere, dies_at: int) -> Life:
    """Created, changed, checked for drift, requested, and deleted."""
    life = Life(plugin, dies_at=dies_at)
    life.settle()
    life.declare("two")
    life.settle()
    life.now += timedelta(minutes=6)
    life.settle()
    life.ask("now")
    life.settle()
    life.delete()
    life.settle()
    return life


@pytest.mark.parametrize("make", PLUGINS, ids=IDS)
def test_a_death_at_any_step_changes_nothing_in_the_end(make: Callable[[], Here | Elsewhere]) -> None:
    undisturbed = whole_life(make(), 0)
    assert undisturbed.is_gone
    for dies_at in range(1, undisturbed.steps + 1):
        plugin = make()
        life = whole_life(plugin, dies_at)
        assert life.deaths == 1
        assert life.is_gone, dies_at
        assert plugin.effects == _expected(plugin), dies_at
        assert plugin.needless == [] or _is_repeated_destruction(plugin), dies_at
        outcomes = [each.spec.is_success for each in life.history.values()]
        assert all(outcomes), dies_at


def _expected(plugin: Here | Elsewhere) -> list[str]:
    """What cannot be observed is applied once more on request."""
    is_blind = isinstance(plugin, Elsewhere) and not plugin.has_plan
    return ["apply one", *["apply two"] * (2 if is_blind else 1), "destroy None"]


def _is_repeated_destruction(plugin: Here | Elsewhere) -> bool:
    """Here, whether something is still there is only found out by destroying it again."""
    return isinstance(plugin, Here) and plugin.needless == ["destroy None"]


def cancelled_life(plugin: Here | Elsewhere, dies_at: int) -> Life:
    """Its first run is cancelled as soon as it is recorded, and it is reconciled on request afterwards."""
    life = Life(plugin, dies_at=dies_at)
    while life.status.run is None or life.status.run.purpose != "apply":
        life.now += life.look() or timedelta()
    life.cancel()
    life.settle()
    return life


@pytest.mark.parametrize("make", [Here, Elsewhere, lambda: Elsewhere(takes=3)], ids=["here", "elsewhere", "long"])
def test_a_death_at_any_step_leaves_a_cancelled_run_cancelled(make: Callable[[], Here | Elsewhere]) -> None:
    undisturbed = cancelled_life(make(), 0)
    for dies_at in range(undisturbed.steps + 1):
        plugin = make()
        life = cancelled_life(plugin, dies_at)
        assert (life.status.phase, life.status.run) == ("failed", None), dies_at
        assert life.status.message.startswith("Cancelled: "), dies_at
        assert [each.spec.phase for each in life.history.values()] == ["cancelled"], dies_at
        assert plugin.needless == [], dies_at
        life.now += timedelta(days=30)
        life.settle()
        assert len(life.history) == 1, "it is not started again by itself"
        life.ask("again")
        life.settle()
        assert (life.status.phase, plugin.value) == ("ready", "one"), dies_at


def test_a_cancellation_of_an_earlier_run_cancels_no_other() -> None:
    life = Life(Elsewhere())
    life.obj["metadata"]["annotations"]["homeostat.dev/cancel"] = "u-1-7"
    life.settle()
    assert life.status.phase == "ready"


class Story:
    """A life to which anything may happen."""

    def __init__(self, plugin: Here | Elsewhere) -> None:
        self.plugin = plugin
        self.life = Life(plugin)
        self.values = iter(f"value-{at}" for at in range(1000))

    def happen(self, event: str) -> None:
        life = self.life
        match event:
            case "declare":
                life.declare(next(self.values))
            case "ask":
                life.ask(next(self.values))
            case "drift":
                self.plugin.value = next(self.values)
            case "pass":
                life.now += timedelta(minutes=7)
            case "die":
                life.dies_at = life.steps + 1
            case "die-later":
                life.dies_at = life.steps + 3
            case "fail" if isinstance(self.plugin, Here):
                self.plugin.failures = 2
            case "delete":
                life.delete()
        life.now += life.look() or timedelta()

    def end(self) -> None:
        self.life.dies_at = 0
        self.life.settle()
        if not self.life.is_gone:
            self.life.ask("the end")
            self.life.now += timedelta(hours=3)
            self.life.settle()
            self.life.now += timedelta(hours=3)
            self.life.settle()


EVENTS = st.lists(
    st.sampled_from(["look", "look", "look", "declare", "ask", "drift", "pass", "die", "die-later", "fail"]),
    max_size=30,
)


@pytest.mark.parametrize("make", [PLUGINS[0], PLUGINS[2]], ids=[IDS[0], IDS[2]])
@examples(60)
@given(events=EVENTS, is_deleted=st.booleans())
def test_whatever_happens_the_world_is_as_declared_in_the_end(
    make: Callable[[], Here | Elsewhere], events: list[str], is_deleted: bool
) -> None:
    story = Story(make())
    for each in events:
        story.happen(each)
    if is_deleted:
        story.happen("delete")
    story.end()
    life = story.life
    if is_deleted:
        assert life.is_gone
        assert story.plugin.value is None or not life.status.has_effects
        return
    assert (life.status.phase, life.condition("Ready")) == ("ready", "True")
    assert story.plugin.value == life.obj["spec"]["value"]
    if isinstance(story.plugin, Elsewhere):
        assert story.plugin.needless == []


@examples(40)
@given(events=EVENTS)
def test_at_rest_another_reconciliation_does_and_writes_nothing(events: list[str]) -> None:
    story = Story(Here())
    for each in events:
        story.happen(each)
    story.end()
    life = story.life
    version, steps = life.obj["metadata"]["resourceVersion"], len(story.plugin.effects)
    life.look()
    assert life.obj["metadata"]["resourceVersion"] == version
    assert len(story.plugin.effects) == steps


def test_history_stays_bounded_whatever_dies() -> None:
    for dies_at in range(1, 60):
        life = Life(Here(), dies_at=dies_at, pace=ResourcePace())
        life.settle()
        names = list(life.history)
        assert len(names) == len(set(names))
