"""A collector that takes OTLP over HTTP and keeps what it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import serve


class OtlpCollector:
    """`answers` is cleared for one that takes requests and says nothing."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[Request] = []
        self.answers = asyncio.Event()
        self.answers.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def take(self, request: Request) -> Reply:
        self.requests.append(request)
        await self.answers.wait()
        return Reply(200, b"", "application/x-protobuf")

    async def asked(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(self.requests) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    def trace_requests(self) -> list[ExportTraceServiceRequest]:
        return [ExportTraceServiceRequest.FromString(each.body) for each in self._of("/v1/traces")]

    def metric_requests(self) -> list[ExportMetricsServiceRequest]:
        return [ExportMetricsServiceRequest.FromString(each.body) for each in self._of("/v1/metrics")]

    def spans(self) -> dict[str, Span]:
        """By name, the newest of each."""
        return {
            span.name: span
            for request in self.trace_requests()
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }

    def metrics(self) -> dict[str, Metric]:
        """By name, the newest of each."""
        return {
            metric.name: metric
            for request in self.metric_requests()
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def _of(self, path: str) -> list[Request]:
        return [request for request in self.requests if request.path == path]


def plain(attributes: Iterable[KeyValue]) -> dict[str, object]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value") for each in attributes}


@asynccontextmanager
async def collecting() -> AsyncIterator[OtlpCollector]:
    collector = OtlpCollector()
    server = await serve(collector.take)
    collector.port = server.port
    try:
        yield collector
    finally:
        await server.stop(grace_s=0)
