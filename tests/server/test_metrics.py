"""What Prometheus is told."""

from __future__ import annotations

from homeostat.edge.metrics.exposition import exposition
from homeostat.server.metrics import Metrics

GET = ("get", "pods", "")


def told(metrics: Metrics) -> dict[str, float]:
    lines = exposition(metrics).decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_requests_are_counted_by_code_and_timed_together() -> None:
    metrics = Metrics()
    metrics.request(GET, 200, 0.0004)
    metrics.request(GET, 200, 0.001)
    metrics.request(GET, 404, 60.0)
    found = told(metrics)
    sort = 'resource="pods",subresource="",verb="get"'
    timed = "apiserver_request_duration_seconds"
    assert found[f'apiserver_request_total{{code="200",{sort}}}'] == 2
    assert found[f'apiserver_request_total{{code="404",{sort}}}'] == 1
    assert found[f"{timed}_count{{{sort}}}"] == 3
    assert found[f"{timed}_sum{{{sort}}}"] == 60.0014
    bounds = ('le="0.0005"', 'le="0.001"', 'le="30.0"', 'le="+Inf"')
    counts = [value for name, value in found.items() if "_bucket" in name and any(bound in name for bound in bounds)]
    assert counts == [1, 2, 2, 3]


def test_a_gauge_is_read_when_asked() -> None:
    metrics, open_watches = Metrics(), [1]
    metrics.gauge("homeostat_watches", "Open watches", lambda: open_watches[-1])
    open_watches.append(7)
    assert told(metrics)["homeostat_watches"] == 7


def test_sorts_past_a_bound_are_counted_together() -> None:
    metrics = Metrics()
    for number in range(6_000):
        metrics.request(("get", f"kind{number}", ""), 200, 0.001)
    found = told(metrics)
    assert found['apiserver_request_total{code="200",resource="other",subresource="",verb="get"}'] == 1_000
    assert sum(value for name, value in found.items() if name.startswith("apiserver_request_total")) == 6_000


def test_figures_of_others_are_on_the_same_page() -> None:
    metrics, other = Metrics(), Metrics()
    other.gauge("homeostat_queue_depth", "Keys that wait", lambda: 5)
    metrics.include(other)
    assert told(metrics)["homeostat_queue_depth"] == 5
    assert exposition(metrics).count(b"# TYPE apiserver_request_total counter") == 1
