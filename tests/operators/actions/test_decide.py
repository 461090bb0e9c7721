"""The life of a resource, told by its moments."""

from __future__ import annotations

from datetime import timedelta

import pytest

from homeostat.objects.time.timestamp import parse_time
from homeostat.operators.actions.api import Keep
from homeostat.operators.actions.schedule import Delays
from homeostat.operators.actions.world import ResourcePace
from homeostat.testing.status import check_status
from tests.operators.actions.lifecycle import Elsewhere, Here, Life


def trigger(life: Life) -> str:
    return list(life.history.values())[-1].spec.trigger


def lived(plugin: Here | Elsewhere | None = None, **options: object) -> Life:
    life = Life(plugin or Here(), **options)  # type: ignore[arg-type]
    life.settle()
    return life


def test_a_new_resource_is_applied_and_then_ready() -> None:
    plugin = Here()
    life = lived(plugin)
    assert plugin.effects == ["apply one"]
    assert (life.status.phase, life.condition("Ready"), life.status.reconciled_generation) == ("ready", "True", 1)
    assert life.phases == ["reconciling", "ready"]
    assert life.status.outputs == {"value": "one"}


def test_what_is_as_declared_is_not_applied() -> None:
    plugin = Here()
    plugin.value = "one"
    life = lived(plugin)
    assert plugin.effects == []
    assert (life.status.phase, life.condition("Ready")) == ("ready", "True")


def test_a_ready_resource_is_checked_for_drift_after_its_interval() -> None:
    life = lived()
    assert parse_time(life.status.next_run or "") - life.now == timedelta(minutes=5)


def test_drift_is_corrected_and_recorded() -> None:
    plugin = Here()
    life = lived(plugin)
    plugin.value = "tampered"
    life.now += timedelta(minutes=6)
    life.settle()
    assert plugin.effects == ["apply one", "apply one"]
    assert [each.spec.is_drift for each in life.history.values()] == [False, True]
    assert trigger(life) == "scheduled"


def test_drift_is_drift_also_when_somebody_asked_for_the_reconciliation() -> None:
    plugin = Here()
    life = lived(plugin)
    plugin.value = "tampered"
    life.ask("now")
    life.settle()
    assert (trigger(life), list(life.history.values())[-1].spec.is_drift) == ("manual", True)


def test_what_is_found_as_declared_has_its_outputs() -> None:
    plugin = Here()
    plugin.value = "one"
    life = lived(plugin)
    assert (plugin.effects, life.status.phase, life.status.outputs) == ([], "ready", {"value": "one"})


def test_a_scheduled_reconciliation_without_drift_changes_nothing_but_times() -> None:
    plugin = Here()
    life = lived(plugin)
    life.now += timedelta(minutes=6)
    life.settle()
    assert plugin.effects == ["apply one"]
    assert [each.spec.is_drift for each in life.history.values()] == [False, False]
    assert life.condition("Ready") == "True"


def test_a_new_declaration_is_applied_at_once() -> None:
    plugin = Here()
    life = lived(plugin)
    life.declare("two")
    life.settle()
    assert plugin.effects == ["apply one", "apply two"]
    assert trigger(life) == "spec_change"
    assert life.status.reconciled_generation == 2


@pytest.mark.parametrize(
    ("failures", "low_s", "high_s"), [(1, 54, 66), (4, 432, 528), (7, 3240, 3960), (20, 3240, 3960)]
)
@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_a_failed_resource_waits_twice_as_long_each_time(
    failures: int, low_s: float, high_s: float, chance: float
) -> None:
    plugin = Here()
    plugin.failures = failures
    life = Life(plugin)
    life.chance = chance
    for _ in range(failures):
        life.settle()
        wait_s = (parse_time(life.status.next_run or "") - life.now).total_seconds()
        life.now += timedelta(seconds=wait_s)
    assert life.status.retries == failures
    assert low_s - 1 <= wait_s <= high_s


def test_a_resource_that_never_was_ready_waits_for_its_retry() -> None:
    plugin = Here()
    plugin.failures = 3
    life = lived(plugin)
    assert life.status.phase == "failed"
    life.now += timedelta(seconds=30)
    life.settle()
    assert life.status.retries == 1
    assert plugin.failures == 2


def test_a_retry_that_succeeds_forgets_the_failures() -> None:
    plugin = Here()
    plugin.failures = 2
    life = lived(plugin)
    for _ in range(2):
        life.now += timedelta(hours=2)
        life.settle()
    assert (life.status.phase, life.status.retries, trigger(life)) == ("ready", 0, "retry")
    assert life.condition("Degraded") == "False"


def test_a_new_declaration_does_not_wait_for_a_retry_and_counts_from_zero() -> None:
    plugin = Here()
    plugin.failures = 3
    life = lived(plugin)
    life.now += timedelta(hours=2)
    life.settle()
    assert life.status.retries == 2
    life.declare("two")
    life.settle()
    assert (life.status.retries, trigger(life)) == (1, "spec_change")


def test_a_request_is_handled_once() -> None:
    life = lived()
    life.ask("now")
    life.settle()
    assert trigger(life) == "manual"
    entries = len(life.history)
    life.settle()
    assert len(life.history) == entries


def test_an_effect_that_does_not_last_is_a_failure() -> None:
    plugin = Here()
    plugin.is_blunt = True
    life = lived(plugin)
    assert life.status.phase == "failed"
    assert "NotConverged" in life.status.message
    assert plugin.effects == ["apply one"]


def test_a_deleted_resource_is_destroyed_and_gone() -> None:
    plugin = Here()
    life = lived(plugin)
    life.delete()
    life.settle()
    assert life.is_gone
    assert plugin.effects == ["apply one", "destroy None"]
    assert trigger(life) == "deletion"


def test_what_never_had_an_effect_needs_no_destruction() -> None:
    plugin = Here()
    plugin.failures = 9
    life = lived(plugin)
    life.delete()
    life.settle()
    assert life.is_gone
    assert plugin.effects == []


def test_a_destruction_that_fails_keeps_the_resource_and_is_tried_again() -> None:
    plugin = Elsewhere()
    plugin.failing = {"destroy"}
    life = lived(plugin)
    life.delete()
    life.settle()
    assert not life.is_gone
    assert (life.status.phase, life.status.retries, life.condition("Degraded")) == ("deleting", 1, "True")
    plugin.failing = set()
    life.now += timedelta(minutes=2)
    life.settle()
    assert life.is_gone


def test_a_failed_resource_is_destroyed_without_waiting_for_its_retry() -> None:
    plugin = Elsewhere()
    plugin.failing = {"apply"}
    life = lived(plugin)
    assert life.status.phase == "failed"
    life.delete()
    before = life.now
    life.settle()
    assert life.is_gone
    assert life.now - before < timedelta(minutes=5)


def test_a_run_elsewhere_is_started_once_for_a_declaration() -> None:
    plugin = Elsewhere()
    life = lived(plugin)
    for _ in range(5):
        life.now += timedelta(minutes=6)
        life.settle()
    assert plugin.effects == ["apply one"]
    assert len(plugin.runs) == 1


def test_what_cannot_be_observed_is_applied_again_on_request_and_is_no_drift() -> None:
    plugin = Elsewhere()
    life = lived(plugin)
    life.ask("now")
    life.settle()
    assert plugin.effects == ["apply one", "apply one"]
    assert (trigger(life), list(life.history.values())[-1].spec.is_drift) == ("manual", False)
    assert (life.status.phase, life.status.handled_request) == ("ready", "now")
    life.now += timedelta(minutes=6)
    life.settle()
    assert len(plugin.runs) == 2


def test_what_cannot_be_observed_and_failed_is_not_taken_for_applied() -> None:
    plugin = Elsewhere()
    life = lived(plugin)
    plugin.failing = {"apply"}
    life.ask("now")
    life.settle()
    assert life.status.phase == "failed"
    plugin.failing = set()
    life.now += timedelta(minutes=6)
    life.settle()
    assert (life.status.phase, plugin.effects) == ("ready", ["apply one"] * 3)


def test_who_goes_back_after_a_failure_has_the_old_declaration_applied_again() -> None:
    plugin = Elsewhere()
    life = lived(plugin)
    plugin.failing = {"apply"}
    life.declare("two")
    life.settle()
    plugin.failing = set()
    life.declare("one")
    life.settle()
    assert (life.status.phase, plugin.effects) == ("ready", ["apply one", "apply two", "apply one"])


def test_drift_elsewhere_is_found_by_a_run_of_the_plan() -> None:
    plugin = Elsewhere(has_plan=True)
    life = lived(plugin)
    plugin.value = "tampered"
    life.now += timedelta(minutes=6)
    life.settle()
    assert [run.purpose for run, _ in plugin.runs.values()] == ["apply", "plan", "apply"]
    assert plugin.value == "one"
    assert list(life.history.values())[-1].spec.is_drift


def test_a_run_of_the_plan_does_not_make_a_ready_resource_doubtful() -> None:
    life = lived(Elsewhere(has_plan=True, takes=4))
    life.now += timedelta(minutes=6)
    seen = set()
    for _ in range(4):
        life.look()
        seen.add((life.condition("Ready"), life.status.phase))
    assert seen == {("True", "ready")}


def test_a_declaration_that_changes_during_a_run_gets_its_own_run() -> None:
    plugin = Elsewhere(takes=5)
    life = Life(plugin)
    for _ in range(4):
        life.look()
    life.declare("two")
    life.settle()
    assert plugin.effects == ["apply one", "apply two"]
    assert [each.spec.generation for each in life.history.values()] == [1, 2]
    assert life.status.reconciled_generation == 2


@pytest.mark.parametrize("plugin", [Here, Elsewhere])
def test_a_run_that_was_recorded_for_another_declaration_is_not_started(plugin: type[Here | Elsewhere]) -> None:
    kept = plugin()
    life = Life(kept)
    life.look()
    assert (life.status.run is not None, kept.effects) == (True, [])
    life.declare("two")
    life.settle()
    assert (kept.effects, kept.needless) == (["apply two"], [])
    assert [each.spec.generation for each in life.history.values()] == [2]


def test_a_resource_deleted_during_a_run_is_destroyed_after_it() -> None:
    plugin = Elsewhere(takes=5)
    life = Life(plugin)
    for _ in range(4):
        life.look()
    life.delete()
    life.settle()
    assert life.is_gone
    assert plugin.effects == ["apply one", "destroy None"]


def test_history_is_bounded() -> None:
    life = lived(pace=ResourcePace(keep=Keep(entries=3)))
    for _ in range(10):
        life.now += timedelta(minutes=6)
        life.settle()
    assert len(life.history) == 3
    assert [each.spec.finished for each in life.history.values()] == sorted(
        each.spec.finished for each in life.history.values()
    )


def test_the_intervals_are_the_types_own() -> None:
    life = lived(pace=ResourcePace(interval_s=7200, delays=Delays(base_s=5, max_s=10)))
    assert parse_time(life.status.next_run or "") - life.now == timedelta(hours=2)


@pytest.mark.parametrize(("requested_delay_s", "expected_s"), [(30.0, 30), (0.0, 1), (None, 300)])
def test_a_plugin_may_say_when_to_check_again(requested_delay_s: float | None, expected_s: float) -> None:
    plugin = Here()
    plugin.again_after_s = requested_delay_s
    life = lived(plugin)
    assert parse_time(life.status.next_run or "") - life.now == timedelta(seconds=expected_s)


@pytest.mark.parametrize("plugin", [Here, Elsewhere], ids=["here", "elsewhere"])
def test_every_status_on_the_way_is_sound(plugin: type[Here | Elsewhere]) -> None:
    life = Life(plugin())
    for at in range(60):
        life.now += life.look() or timedelta()
        if life.is_gone:
            return
        check_status(life.obj)
        if at == 20:
            life.declare("two")
        if at == 40:
            life.delete()
