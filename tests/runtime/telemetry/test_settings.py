"""Traces and figures as a real collector gets them over HTTP, and what happens where there is none."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator

import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from prometheus_client import Counter, Histogram, Summary

from homeostat import __version__
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.telemetry.metrics import Metrics
from homeostat.runtime.telemetry.settings import TelemetryError, TelemetrySettings, telemetry
from homeostat.runtime.telemetry.tracing import OFF
from tests.runtime.collector import OtlpCollector, collecting, plain


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("OTEL_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OtlpCollector]:
    async with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        yield collector


async def test_a_reconcile_arrives_with_its_parts(collector: OtlpCollector) -> None:
    async with telemetry(Metrics()) as tracer:
        with tracer.span("reconcile", controller="images", namespace="shop", name="web", attempt=2) as span:
            with tracer.span("observe"):
                await asyncio.sleep(0.01)
            span.set(outcome="decided")
    spans = collector.spans()
    reconcile, observe = spans["reconcile"], spans["observe"]
    assert reconcile.parent_span_id == b""
    assert observe.parent_span_id == reconcile.span_id
    assert observe.trace_id == reconcile.trace_id
    attributes = {"controller": "images", "namespace": "shop", "name": "web", "attempt": 2, "outcome": "decided"}
    assert plain(reconcile.attributes) == attributes
    assert observe.end_time_unix_nano - observe.start_time_unix_nano >= 5_000_000
    assert reconcile.status.code == Status.STATUS_CODE_UNSET


async def test_an_error_arrives_without_its_traceback(collector: OtlpCollector) -> None:
    async with telemetry(Metrics()) as tracer:
        with pytest.raises(ValueError, match="no such tag"), tracer.span("reconcile"):
            raise ValueError("no such tag")
    (span,) = collector.spans().values()
    assert (span.status.code, span.status.message) == (Status.STATUS_CODE_ERROR, "ValueError: no such tag")
    (event,) = span.events
    assert plain(event.attributes) == {"exception.type": "ValueError", "exception.message": "no such tag"}


async def test_a_library_finds_the_span_that_it_works_in(collector: OtlpCollector) -> None:
    async with telemetry(Metrics()) as tracer:
        with tracer.span("reconcile"):
            inside = trace.get_current_span().get_span_context()
        outside = trace.get_current_span().get_span_context()
    assert collector.spans()["reconcile"].span_id == inside.span_id.to_bytes(8, "big")
    assert not outside.is_valid


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({}, {"service.name": "homeostat", "service.version": __version__}, id="by itself"),
        pytest.param(
            {"OTEL_SERVICE_NAME": "gardener", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=prod,zone=a"},
            {"service.name": "gardener", "deployment.environment.name": "prod", "zone": "a"},
            id="as told",
        ),
        pytest.param(
            {"OTEL_RESOURCE_ATTRIBUTES": "service.name=gardener,service.version=7"},
            {"service.name": "gardener", "service.version": "7"},
            id="as told by attributes",
        ),
    ],
)
async def test_both_signals_say_whose_they_are(
    collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    async with telemetry(Metrics()) as tracer:
        with tracer.span("reconcile"):
            pass
    for resource in (
        collector.trace_requests()[0].resource_spans[0].resource,
        collector.metric_requests()[0].resource_metrics[0].resource,
    ):
        assert expected.items() <= plain(resource.attributes).items()


async def test_headers_are_sent(collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x,tenant=shop")
    async with telemetry(Metrics()) as tracer:
        with tracer.span("reconcile"):
            pass
    assert {request.path for request in collector.requests} == {"/v1/traces", "/v1/metrics"}
    for request in collector.requests:
        assert (request.headers["authorization"], request.headers["tenant"]) == ("Bearer x", "shop")


async def test_figures_arrive_as_prometheus_would_see_them(collector: OtlpCollector) -> None:
    metrics = Metrics()
    for seconds in (0.002, 0.2, 0.2, 400.0):
        metrics.reconciled("images", "decided", seconds)
    metrics.watch_election("homeostat", lambda: True)
    before_ns = time.time_ns()
    async with telemetry(metrics):
        pass
    found = collector.metrics()
    total = found["homeostat_reconciles_total"].sum
    assert (total.is_monotonic, total.aggregation_temporality) == (True, 2)
    assert total.data_points[0].as_double == 4
    assert before_ns <= total.data_points[0].start_time_unix_nano < total.data_points[0].time_unix_nano
    assert plain(total.data_points[0].attributes) == {"controller": "images", "outcome": "decided"}
    times = found["homeostat_reconcile_seconds"]
    (point,) = times.histogram.data_points
    assert (times.unit, point.count, point.sum) == ("s", 4, pytest.approx(400.402))
    buckets = dict(zip([*point.explicit_bounds, float("inf")], point.bucket_counts, strict=True))
    assert {bound: count for bound, count in buckets.items() if count} == {0.0025: 1, 0.25: 2, float("inf"): 1}
    assert not point.HasField("min")
    assert plain(point.attributes) == {"controller": "images"}
    assert found["homeostat_leading"].gauge.data_points[0].as_double == 1


async def test_the_figures_of_an_operator_arrive_too(collector: OtlpCollector) -> None:
    metrics = Metrics()
    pushes = Counter("pushes", "Pushes", labelnames=("branch",), registry=None)
    sizes = Histogram("sizes", "Sizes", labelnames=("branch",), registry=None, buckets=(1, 10))
    waits = Summary("waits", "Waits", registry=None)
    for collector_of_one in (pushes, sizes, waits):
        metrics.register(collector_of_one)
    for branch in ("main", "next"):
        pushes.labels(branch).inc()
        sizes.labels(branch).observe(5)
    waits.observe(0.5)
    async with telemetry(metrics):
        pass
    found = collector.metrics()
    assert {"pushes_total", "sizes", "waits_count", "waits_sum"} <= set(found)
    assert not [name for name in found if name.endswith("_created")]
    assert [point.as_double for point in found["pushes_total"].sum.data_points] == [1, 1]
    assert [list(point.bucket_counts) for point in found["sizes"].histogram.data_points] == [[0, 1, 0]] * 2
    assert [plain(point.attributes) for point in found["sizes"].histogram.data_points] == [
        {"branch": "main"},
        {"branch": "next"},
    ]
    assert found["waits_sum"].sum.is_monotonic


async def depth_is(collector: OtlpCollector, wanted: float) -> None:
    async with asyncio.timeout(30):
        while True:
            metric = collector.metrics().get("homeostat_queue_depth")
            if metric is not None and metric.gauge.data_points[0].as_double == wanted:
                return
            await asyncio.sleep(0.01)


async def test_figures_are_sent_again_and_again(collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
    metrics, queue = Metrics(), WorkQueue[str]()
    metrics.watch_queue("images", queue)
    async with telemetry(metrics):
        await depth_is(collector, 0)
        queue.add("web")
        await depth_is(collector, 1)


@pytest.mark.parametrize(
    ("variables", "traces", "metrics"),
    [
        pytest.param({}, True, True, id="both"),
        pytest.param({"OTEL_TRACES_EXPORTER": "none"}, False, True, id="metrics alone"),
        pytest.param({"OTEL_METRICS_EXPORTER": "none"}, True, False, id="traces alone"),
        pytest.param({"OTEL_METRICS_EXPORTER": "prometheus"}, True, False, id="metrics are asked for"),
        pytest.param({"OTEL_TRACES_SAMPLER": "always_off"}, False, True, id="no trace is kept"),
        pytest.param({"OTEL_SDK_DISABLED": "TRUE"}, False, False, id="switched off"),
    ],
)
async def test_what_is_not_wanted_is_not_sent(
    collector: OtlpCollector,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    traces: bool,
    metrics: bool,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    async with telemetry(Metrics()) as tracer:
        with tracer.span("reconcile"):
            pass
    assert (bool(collector.trace_requests()), bool(collector.metric_requests())) == (traces, metrics)


ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({}, (False, False, 1.0, 60.0), id="nothing"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, (False, False, 1.0, 60.0), id="empty is nothing"),
        pytest.param({"OTEL_TRACES_EXPORTER": "otlp"}, (True, False, 1.0, 60.0), id="to the usual place"),
        pytest.param(
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://collector/x"}, (True, False, 1.0, 60.0), id="traces"
        ),
        pytest.param(
            {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://collector/x"}, (False, True, 1.0, 60.0), id="metrics"
        ),
        pytest.param(
            {**ENDPOINT, "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"},
            (True, True, 0.25, 60.0),
            id="a share",
        ),
        pytest.param(
            {**ENDPOINT, "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"},
            (True, True, 0.5, 60.0),
            id="a share unless the parent says",
        ),
        pytest.param({**ENDPOINT, "OTEL_METRIC_EXPORT_INTERVAL": "5000"}, (True, True, 1.0, 5.0), id="interval"),
        pytest.param({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, (True, True, 1.0, 60.0), id="HTTP"),
    ],
)
def test_the_variables_are_the_settings(variables: dict[str, str], expected: tuple[bool, bool, float, float]) -> None:
    assert TelemetrySettings.of(variables) == TelemetrySettings(*expected)


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"OTEL_TRACES_SAMPLER": "jaeger_remote"}, id="sampler"),
        pytest.param({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"}, id="share"),
        pytest.param({"OTEL_METRIC_EXPORT_INTERVAL": "soon"}, id="interval"),
    ],
)
def test_a_value_without_meaning_is_reported_and_passed_over(
    variables: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert TelemetrySettings.of(ENDPOINT | variables) == TelemetrySettings.of(ENDPOINT)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        pytest.param({"OTEL_TRACES_EXPORTER": "zipkin"}, "set it to otlp or none", id="exporter"),
        pytest.param({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "only http/protobuf is supported", id="gRPC"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, "must start with http://", id="no URL"),
    ],
)
def test_what_cannot_be_done_is_refused(variables: dict[str, str], told: str) -> None:
    with pytest.raises(TelemetryError, match=told):
        TelemetrySettings.of(variables)


async def test_a_missing_extra_is_reported_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.delitem(sys.modules, "homeostat.runtime.telemetry.otlp_traces", raising=False)
    with pytest.raises(TelemetryError, match=r"pip install 'homeostat-plane\[otel\]'"):
        async with telemetry(Metrics()):
            pass


async def test_without_variables_it_is_off() -> None:
    async with telemetry(Metrics()) as tracer:
        assert tracer is OFF


def test_without_variables_nothing_of_opentelemetry_is_imported() -> None:
    code = """
import asyncio, sys
from homeostat.runtime.telemetry.metrics import Metrics
from homeostat.runtime.telemetry.settings import telemetry
async def main():
    async with telemetry(Metrics()) as tracer:
        with tracer.span("reconcile"):
            pass
asyncio.run(main())
sys.exit(any(name.startswith(("opentelemetry", "prometheus_client")) for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == 0


async def nothing_runs_on() -> None:
    for thread in threading.enumerate():
        if thread.name.lower().startswith(("otel", "otlp")):
            await asyncio.to_thread(thread.join, 5)
            assert not thread.is_alive()


async def test_a_collector_that_says_nothing_holds_up_nobody(
    collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "10")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    collector.answers.clear()
    longest_s = 0.0
    async with telemetry(Metrics(), last_export_s=0.2) as tracer:
        with tracer.span("reconcile"):
            pass
        await collector.asked(2)
        for _ in range(20):
            began = time.perf_counter()
            with tracer.span("reconcile"):
                await asyncio.sleep(0.01)
            longest_s = max(longest_s, time.perf_counter() - began)
        ending = time.perf_counter()
    assert longest_s < 2
    assert time.perf_counter() - ending < 5
    assert len(collector.requests) == 2
    collector.answers.set()
    await nothing_runs_on()


async def test_a_collector_that_is_away_harms_nobody_and_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with collecting() as gone:
        url = gone.url
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.1")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "10")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    with caplog.at_level(logging.WARNING):
        async with telemetry(Metrics(), last_export_s=5) as tracer:
            for _ in range(20):
                with tracer.span("reconcile"):
                    await asyncio.sleep(0.01)
            ending = time.perf_counter()
    assert time.perf_counter() - ending < 5
    await nothing_runs_on()
    said = [record.name.rpartition(".")[2] for record in caplog.records if record.name.startswith("opentelemetry")]
    assert sorted(said) == ["metric_exporter", "trace_exporter"]
