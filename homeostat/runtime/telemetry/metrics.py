"""The metrics of controllers: reconciles, queues, watches, caches, Events, leadership.

Queues, informers and the others count in plain numbers, which belong to the event loop and are read there when metrics
are requested. Counting a reconcile changes one number in a list. There is no registry of the process, so that it may
have several managers. Watches of the same path are shown as one, with the highest age and the sum of the other numbers:
a dashboard does not need selectors and projections.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from homeostat.edge.metrics.exposition import Collector, escaped, exposition, rendered
from homeostat.edge.metrics.histogram import Histogram
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.control.hot_loop_limit import Breaker
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.recorder import Recorder
from homeostat.runtime.telemetry.state import ControllerState

if TYPE_CHECKING:
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
    from prometheus_client.samples import Sample

T = TypeVar("T")

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_STATE = "homeostat_watch_state"
_STATES = ("streaming", "listing", "watching", "waiting")


class _Figure(NamedTuple, Generic[T]):
    """The name of a counter ends in `_total`."""

    name: str
    help: str
    read: Callable[[T], float]
    combine: Callable[[Iterable[float]], float] = sum


_QUEUE: tuple[_Figure[WorkQueue[Any]], ...] = (
    _Figure("homeostat_queue_depth", "Keys that a worker could take now", lambda queue: queue.depth),
    _Figure("homeostat_queue_delayed", "Keys that wait for their time", lambda queue: queue.delayed),
    _Figure("homeostat_queue_working", "Keys that are being worked on", lambda queue: queue.working),
    _Figure(
        "homeostat_queue_oldest_wait_seconds",
        "How long the key that has waited longest could have been taken",
        lambda queue: queue.oldest_wait_s,
        max,
    ),
    _Figure("homeostat_queue_adds_total", "Keys added, held already or not", lambda queue: queue.adds),
    _Figure("homeostat_queue_retries_total", "Keys added again after a failure", lambda queue: queue.retries),
    _Figure("homeostat_queue_takes_total", "Keys taken by workers", lambda queue: queue.takes),
    _Figure(
        "homeostat_queue_wait_seconds_total",
        "Time that keys waited for a worker after they were due",
        lambda queue: queue.waited_s,
    ),
)
_BREAKER: tuple[_Figure[Breaker[Any]], ...] = (
    _Figure("homeostat_breaker_trips_total", "Turns put off for objects that do not settle", lambda each: each.trips),
)
_WATCH: tuple[_Figure[Informer[Any]], ...] = (
    _Figure(
        "homeostat_watch_last_event_age_seconds",
        "Time since the last event or bookmark of this watch",
        lambda informer: informer.watcher.last_event_age_s,
        max,
    ),
    _Figure(
        "homeostat_watch_synced",
        "Whether the first list is in the cache",
        lambda each: each.watcher.synced.is_set(),
        min,
    ),
    _Figure("homeostat_watch_restarts_total", "Watches opened again", lambda informer: informer.watcher.restarts),
    _Figure("homeostat_watch_relists_total", "Lists after the first one", lambda informer: informer.relists),
    _Figure(
        "homeostat_watch_missed_total",
        "Objects that differed from the watch in a comparison with a list",
        lambda informer: informer.comparison.differences,
    ),
    _Figure(
        "homeostat_watch_unreadable_total",
        "Objects left out because they do not match their projection",
        lambda informer: informer.watcher.unreadable,
    ),
    _Figure("homeostat_cache_objects", "Objects in memory", lambda informer: len(informer.cache)),
)
_EVENTS: tuple[_Figure[Recorder], ...] = (
    _Figure("homeostat_events_written_total", "Events written", lambda recorder: recorder.written),
    _Figure(
        "homeostat_events_dropped_total",
        "Events dropped because there were too many",
        lambda recorder: recorder.dropped,
    ),
    _Figure("homeostat_events_failed_total", "Events that could not be written", lambda recorder: recorder.failed),
)
_LEADING: tuple[_Figure[Callable[[], bool]], ...] = (
    _Figure("homeostat_leading", "Whether this process is the leader", lambda is_leading: is_leading(), max),
)


class Metrics:
    """The metrics of one manager."""

    def __init__(self) -> None:
        self._histograms: dict[tuple[str, str], Histogram] = {}
        self._queues: dict[str, WorkQueue[Any]] = {}
        self._breakers: dict[str, Breaker[Any]] = {}
        self._informers: list[Informers] = []
        self._recorders: list[Recorder] = []
        self._elections: dict[str, Callable[[], bool]] = {}
        self._collectors: list[Collector] = []

    @classmethod
    def joined(cls, several: Iterable[Metrics]) -> Metrics:
        """Combines several managers, whose controllers have different names: each series appears once."""
        whole = cls()
        for each in several:
            whole._histograms |= each._histograms
            whole._queues |= each._queues
            whole._breakers |= each._breakers
            whole._elections |= each._elections
            whole._informers += each._informers
            whole._recorders += each._recorders
            whole._collectors += each._collectors
        return whole

    def reconciled(self, controller: str, outcome: str, seconds: float) -> None:
        histogram = self._histograms.get((controller, outcome))
        if histogram is None:
            histogram = self._histograms[controller, outcome] = Histogram(_BOUNDS)
        histogram.add(seconds)

    def counted(self, controllers: Collection[str]) -> tuple[dict[str, int], Histogram]:
        """The reconciles of these controllers together: their number by outcome, and their times."""
        counts: dict[str, int] = {}
        times = Histogram(_BOUNDS)
        for (controller, outcome), histogram in self._histograms.items():
            if controller in controllers:
                counts[outcome] = counts.get(outcome, 0) + sum(histogram.counts)
                times.merge(histogram)
        return counts, times

    def state(self, controller: str) -> ControllerState:
        """What the queue of a controller holds, and how its reconciles went."""
        outcomes, times = self.counted((controller,))
        count, queue = sum(times.counts), self._queues.get(controller)
        return ControllerState(
            name=controller,
            depth=queue.depth if queue is not None else 0,
            delayed=queue.delayed if queue is not None else 0,
            working=queue.working if queue is not None else 0,
            oldest_wait_s=queue.oldest_wait_s if queue is not None else 0.0,
            retries=queue.retries if queue is not None else 0,
            outcomes=outcomes,
            mean_s=times.seconds / count if count else 0.0,
            slowest_s=times.bound_of(0.99),
        )

    def watch_queue(self, controller: str, queue: WorkQueue[Any]) -> None:
        self._queues[controller] = queue

    def watch_breaker(self, controller: str, breaker: Breaker[Any]) -> None:
        self._breakers[controller] = breaker

    def forget(self, controller: str) -> None:
        """Drops the metrics of a controller that was removed; another one with its name starts at zero."""
        self._queues.pop(controller, None)
        self._breakers.pop(controller, None)
        self._histograms = {key: histogram for key, histogram in self._histograms.items() if key[0] != controller}

    def watch_informers(self, informers: Informers) -> None:
        """Includes informers that are added later."""
        self._informers.append(informers)

    def watch_recorder(self, recorder: Recorder) -> None:
        self._recorders.append(recorder)

    def watch_election(self, name: str, is_leading: Callable[[], bool]) -> None:
        self._elections[name] = is_leading

    def register(self, collector: Collector) -> None:
        """Adds metrics of an operator; create a metric of prometheus-client with `registry=None` for this."""
        self._collectors.append(collector)

    def text(self) -> bytes:
        return exposition(self)

    def collect(self) -> Iterator[Metric]:
        informers = [(informer.source.path, informer) for each in self._informers for informer in each]
        yield from self._reconciles()
        yield from _families(_QUEUE, "controller", self._queues.items())
        yield from _families(_BREAKER, "controller", self._breakers.items())
        yield from _families(_WATCH, "path", informers)
        yield from _states(informers)
        yield from _families(_EVENTS, "", [("", recorder) for recorder in self._recorders])
        yield from _families(_LEADING, "lease", self._elections.items())
        for collector in self._collectors:
            yield from collector.collect()

    def _reconciles(self) -> tuple[CounterMetricFamily, HistogramMetricFamily]:
        from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily

        counts = CounterMetricFamily(
            "homeostat_reconciles_total", "Reconciles by outcome", labels=("controller", "outcome")
        )
        times = HistogramMetricFamily(
            "homeostat_reconcile_seconds", "How long a reconcile took", labels=("controller",)
        )
        together: dict[str, Histogram] = {}
        for (controller, outcome), histogram in self._histograms.items():
            counts.add_metric((controller, outcome), sum(histogram.counts))
            together.setdefault(controller, Histogram(_BOUNDS)).merge(histogram)
        for controller, histogram in together.items():
            times.add_metric((controller,), histogram.buckets(), histogram.seconds)
        return counts, times


def _families(figures: tuple[_Figure[T], ...], label: str, things: Iterable[tuple[str, T]]) -> Iterator[Metric]:
    """The metrics of all things. Things with the same label, or without one, are combined."""
    named: dict[str, list[T]] = {}
    for name, thing in things:
        named.setdefault(name, []).append(thing)
    for figure in figures if named else ():
        family = _family(figure.name, figure.help, (label,) if label else ())
        for name, group in named.items():
            family.add_metric((name,) if label else (), figure.combine(map(figure.read, group)))
        yield family


def _family(name: str, text: str, labels: tuple[str, ...]) -> CounterMetricFamily | GaugeMetricFamily:
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

    return (CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily)(name, text, labels=labels)


def _states(informers: list[tuple[str, Informer[Any]]]) -> Iterator[Metric]:
    counts: dict[tuple[str, str], int] = {(path, state): 0 for path, _ in informers for state in _STATES}
    for path, informer in informers:
        counts[path, type(informer.watcher.state).__name__.lower()] += 1
    if counts:
        yield rendered(
            _STATE, "Watches by state", "gauge", partial(_state_lines, counts), partial(_state_samples, counts)
        )


def _state_lines(counts: dict[tuple[str, str], int]) -> str:
    """A plane of thousands of kinds has a watch of each, so this is done in a thread."""
    return "".join(
        [f'{_STATE}{{path="{escaped(path)}",state="{state}"}} {count}.0\n' for (path, state), count in counts.items()]
    )


def _state_samples(counts: dict[tuple[str, str], int]) -> list[Sample]:
    from prometheus_client.samples import Sample

    return [Sample(_STATE, {"path": path, "state": state}, count) for (path, state), count in counts.items()]
