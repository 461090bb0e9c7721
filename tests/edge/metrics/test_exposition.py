"""A page that Prometheus takes, whoever put figures on it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from prometheus_client import Counter, Gauge
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from homeostat.edge.metrics.exposition import exposition
from homeostat.edge.metrics.histogram import Histogram


class Depths:
    def __init__(self, **depths: float) -> None:
        self._depths = depths

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily("depth", "How deep", labels=("lake",))
        for lake, metres in self._depths.items():
            family.add_metric((lake,), metres)
        yield family


def test_a_name_that_several_collectors_have_stands_there_once() -> None:
    text = exposition(Depths(como=410), Depths(garda=346)).decode()
    assert text.count("# TYPE depth gauge") == 1
    assert 'depth{lake="como"} 410.0' in text
    assert 'depth{lake="garda"} 346.0' in text


def test_showing_figures_does_not_change_them() -> None:
    family = GaugeMetricFamily("depth", "How deep", value=3)

    class Kept:
        def collect(self) -> Iterable[Metric]:
            return [family]

    assert exposition(Kept(), Depths(como=410)) == exposition(Kept(), Depths(como=410))
    assert len(family.samples) == 1


def test_a_name_of_two_types_is_refused() -> None:
    with pytest.raises(ValueError, match="metric depth is a gauge of one collector, a counter of another"):
        exposition(Gauge("depth", "How deep", registry=None), Counter("depth", "How often", registry=None))


@pytest.mark.parametrize(
    ("seconds", "buckets"),
    [
        pytest.param(0.0, [1, 1, 1], id="at once"),
        pytest.param(0.1, [1, 1, 1], id="a bound belongs to its bucket"),
        pytest.param(0.2, [0, 1, 1], id="between"),
        pytest.param(9.0, [0, 0, 1], id="longer than all bounds"),
    ],
)
def test_a_duration_counts_in_every_bucket_that_it_fits(seconds: float, buckets: list[int]) -> None:
    histogram = Histogram((0.1, 1.0))
    histogram.add(seconds)
    assert [count for _, count in histogram.buckets()] == buckets


def test_merging_histograms_adds_their_counts() -> None:
    first, second = Histogram((0.1, 1.0)), Histogram((0.1, 1.0))
    for seconds in (0.05, 0.5):
        first.add(seconds)
    second.add(5.0)
    first.merge(second)
    assert first.buckets() == [("0.1", 1), ("1.0", 2), ("+Inf", 3)]
    assert first.seconds == pytest.approx(5.55)
