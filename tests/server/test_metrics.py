"""What Prometheus is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from homeostat.edge.metrics.exposition import Families, exposition
from homeostat.edge.metrics.page import MetricsPage
from homeostat.plane.metrics import DiskFigures
from homeostat.server.metrics import Metrics
from tests.holds import measured_turns

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


def test_a_disk_that_does_not_answer_has_no_series(tmp_path: Path) -> None:
    metrics = Metrics()
    metrics.include(DiskFigures(tmp_path))
    assert told(metrics)["homeostat_disk_bytes"] >= told(metrics)["homeostat_disk_free_bytes"] > 0
    gone = Metrics()
    gone.include(DiskFigures(tmp_path / "gone"))
    assert not [name for name in told(gone) if "disk" in name]


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


@pytest.mark.slow
async def test_a_page_of_five_thousand_kinds_holds_the_event_loop_for_less_than_30_ms() -> None:
    metrics = Metrics()
    for number in range(5_000):
        metrics.request(("get", f"kind{number}", ""), 200, 0.001)
    page = MetricsPage(metrics)
    await page.text()  # imports the library
    async with measured_turns() as turns:
        text = await page.text()
    assert text.count(b"_bucket{") == 70_000
    assert turns.longest_s < 0.03


def test_the_page_has_the_samples_that_other_exporters_read() -> None:
    metrics = Metrics()
    metrics.request(("get", 'a"b', ""), 200, 0.001)
    metrics.request(GET, 404, 2.0)
    page = text_string_to_metric_families(exposition(metrics).decode())
    read = {(each.name, str(each.labels), each.value) for family in page for each in family.samples}
    others = Families(metrics).collect()
    assert read == {(each.name, str(each.labels), each.value) for family in others for each in family.samples}
