"""What Prometheus gets of the controllers, from real queues, watches and Events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import Counter, Gauge
from prometheus_client.parser import text_string_to_metric_families

from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.control.hot_loop_limit import Breaker
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.recorder import About, Recorder
from homeostat.runtime.telemetry.metrics import Metrics
from homeostat.runtime.watch.source import Source
from tests.runtime.faulty import CONFIG_MAPS, write
from tests.runtime.projections import Pod
from tools.fetch_servers import find_program

ALL = "/api/v1/configmaps"


def told(metrics: Metrics) -> dict[str, float]:
    """Each sample by its name and the values of its labels, in the order of their names."""
    families = text_string_to_metric_families(metrics.text().decode())
    return {
        " ".join([sample.name, *(value for _, value in sorted(sample.labels.items()))]): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield plane


def test_reconciles_are_counted_by_outcome_and_timed_together() -> None:
    metrics = Metrics()
    metrics.reconciled("images", "decided", 0.002)
    metrics.reconciled("images", "decided", 0.2)
    metrics.reconciled("images", "failed", 400.0)
    metrics.reconciled("sync", "decided", 0.1)
    found = told(metrics)
    assert found["homeostat_reconciles_total images decided"] == 2
    assert found["homeostat_reconciles_total images failed"] == 1
    assert found["homeostat_reconciles_total sync decided"] == 1
    assert found["homeostat_reconcile_seconds_count images"] == 3
    assert found["homeostat_reconcile_seconds_sum images"] == pytest.approx(400.202)
    bounds = ("0.0025", "0.25", "300.0", "+Inf")
    assert [found[f"homeostat_reconcile_seconds_bucket images {bound}"] for bound in bounds] == [1, 2, 2, 3]


async def test_a_queue_shows_what_waits_and_what_was_done() -> None:
    metrics, queue = Metrics(), WorkQueue[str]()
    metrics.watch_queue("images", queue)
    for key in ("a", "b", "c"):
        queue.add(key)
    queue.add("later", after_s=60)
    queue.retry(await queue.take())
    found = told(metrics)
    expected = {"depth": 2, "delayed": 2, "working": 1, "adds_total": 5, "retries_total": 1, "takes_total": 1}
    assert {name: found[f"homeostat_queue_{name} images"] for name in expected} == expected
    assert found["homeostat_queue_wait_seconds_total images"] >= 0
    await asyncio.sleep(0.02)
    assert told(metrics)["homeostat_queue_oldest_wait_seconds images"] >= 0.01


async def test_a_watch_shows_its_age_its_state_and_what_it_holds(plane: Plane) -> None:
    metrics, informers = Metrics(), Informers(plane.client)
    metrics.watch_informers(informers)
    informers.get(Source(ALL), Pod)
    before = told(metrics)
    assert before[f"homeostat_watch_last_event_age_seconds {ALL}"] == float("inf")
    assert before[f"homeostat_watch_synced {ALL}"] == 0
    await write(plane.client, "there")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(informers.run())
        await informers.synced()
        found = told(metrics)
        running.cancel()
    assert 0 <= found[f"homeostat_watch_last_event_age_seconds {ALL}"] < 10
    expected = {
        "watch_synced": 1,
        "watch_restarts_total": 0,
        "watch_relists_total": 0,
        "watch_missed_total": 0,
        "watch_unreadable_total": 0,
    }
    assert {name: found[f"homeostat_{name} {ALL}"] for name in expected} == expected
    assert found[f"homeostat_cache_objects {ALL}"] >= 1
    states = ("streaming", "listing", "watching", "waiting")
    assert [found[f"homeostat_watch_state {ALL} {state}"] for state in states] == [0, 0, 1, 0]


async def test_watches_of_one_path_are_shown_together(plane: Plane) -> None:
    metrics, informers = Metrics(), Informers(plane.client)
    metrics.watch_informers(informers)
    await write(plane.client, "a")
    await write(plane.client, "b")
    informers.get(Source(CONFIG_MAPS, field_selector="metadata.name=a"), Pod)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(informers.run())
        await informers.synced()
        informers.get(Source(CONFIG_MAPS, field_selector="metadata.name=b"), Pod)
        early = told(metrics)
        await informers.synced()
        found = told(metrics)
        running.cancel()
    assert early[f"homeostat_watch_synced {CONFIG_MAPS}"] == 0
    assert early[f"homeostat_watch_last_event_age_seconds {CONFIG_MAPS}"] == float("inf")
    assert found[f"homeostat_watch_synced {CONFIG_MAPS}"] == 1
    assert found[f"homeostat_cache_objects {CONFIG_MAPS}"] == 2
    assert found[f"homeostat_watch_state {CONFIG_MAPS} watching"] == 2


async def test_events_of_all_recorders_are_added_up(plane: Plane) -> None:
    metrics = Metrics()
    for component in ("images", "sync"):
        recorder = Recorder(plane.client, component)
        metrics.watch_recorder(recorder)
        recorder.record(About("v1", "ConfigMap", "default", component), "Normal", "Told", "as it is")
        await recorder.flush()
    found = told(metrics)
    assert [found[f"homeostat_events_{name}_total"] for name in ("written", "dropped", "failed")] == [2, 0, 0]


def test_who_leads_is_asked_each_time() -> None:
    metrics, answers = Metrics(), [True, False]
    metrics.watch_election("homeostat", lambda: answers.pop(0))
    assert [told(metrics)["homeostat_leading homeostat"] for _ in range(2)] == [1, 0]


def test_turns_that_were_put_off_are_counted() -> None:
    metrics, breaker = Metrics(), Breaker[str](burst=1)
    metrics.watch_breaker("images", breaker)
    for _ in range(3):
        breaker.admit("web", 0.0)
    assert told(metrics)["homeostat_breaker_trips_total images"] == 2


def test_an_operator_has_figures_of_its_own() -> None:
    metrics = Metrics()
    pushes = Counter("images_pushes", "Commits pushed", registry=None)
    metrics.register(pushes)
    pushes.inc(3)
    assert told(metrics)["images_pushes_total"] == 3


def test_two_managers_do_not_share_figures() -> None:
    first, second = Metrics(), Metrics()
    first.reconciled("images", "decided", 0.1)
    assert "homeostat_reconciles_total images decided" in told(first)
    assert told(second) == {}


async def test_promtool_finds_nothing_to_complain_of(plane: Plane) -> None:
    promtool = find_program("promtool")
    metrics, informers = Metrics(), Informers(plane.client)
    informers.get(Source(ALL), Pod)
    metrics.reconciled('im"ag\\es', "decided\n", 0.1)
    metrics.watch_queue("images", WorkQueue[str]())
    metrics.watch_breaker("images", Breaker[str]())
    metrics.watch_informers(informers)
    metrics.watch_recorder(Recorder(plane.client, "images"))
    metrics.watch_election("homeostat", lambda: True)
    metrics.register(Gauge("images_behind", "Images behind their tag", registry=None))
    process = await asyncio.create_subprocess_exec(
        promtool,
        "check",
        "metrics",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(metrics.text()), 30)
    assert (process.returncode, said.decode()) == (0, "")
