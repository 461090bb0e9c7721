"""Sends spans to a collector by OTLP over HTTP, with the SDK of OpenTelemetry.

Ended spans wait in a bounded queue, from which a thread of the SDK sends them in batches. If the collector is slow,
unreachable or refuses them, spans are lost and nothing else happens. The module is imported only if tracing is on,
because the SDK is an extra.
"""

from __future__ import annotations

import asyncio
from threading import Thread

from opentelemetry import context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span, StatusCode, set_span_in_context

from homeostat import __version__
from homeostat.runtime.telemetry.tracing import Attributes, Record


class SpanExport:
    """The SDK reads endpoint, headers, certificates, timeouts and limits from the environment."""

    def __init__(self, resource: Resource) -> None:
        self._exporter = OTLPSpanExporter()
        # `Tracer` has decided which traces are sampled.
        self._provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("homeostat", __version__)

    def begin(self, name: str, attributes: Attributes, parent: Record | None) -> Record:
        within = parent.context if isinstance(parent, _Record) else context.Context()
        return _Record(self._tracer.start_span(name, within, attributes=attributes))

    async def stop(self, within_s: float) -> None:
        """Sends the waiting spans, and gives up after `within_s`."""
        # The SDK would wait for half a minute, and its exporter until the collector answers.
        stopping = Thread(target=self._provider.shutdown, name="otlp-traces-stop", daemon=True)
        stopping.start()
        await asyncio.to_thread(stopping.join, within_s)
        if stopping.is_alive():
            self._exporter.shutdown()  # type: ignore[no-untyped-call]


class _Record:
    __slots__ = ("_span", "_token", "context")

    def __init__(self, span: Span) -> None:
        self._span = span
        self.context = set_span_in_context(span, context.Context())
        # Spans of libraries with their own instrumentation become children of this one.
        self._token = context.attach(self.context)

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def fail(self, error: Exception) -> None:
        kind, message = type(error).__qualname__, str(error)
        self._span.add_event("exception", {"exception.type": kind, "exception.message": message})
        self._span.set_status(StatusCode.ERROR, f"{kind}: {message}" if message else kind)

    def end(self) -> None:
        context.detach(self._token)
        self._span.end()
