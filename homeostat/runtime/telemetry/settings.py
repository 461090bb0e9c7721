"""Traces and metrics by OTLP, configured only by the environment variables that OpenTelemetry defines.

    async with telemetry(metrics) as tracer:
        ...

- `OTEL_EXPORTER_OTLP_ENDPOINT`, `..._TRACES_ENDPOINT`, `..._METRICS_ENDPOINT`: the collector; each enables the export
- `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`: `otlp` enables it without an endpoint (then localhost), `none`
  disables it
- `OTEL_SDK_DISABLED`: `true` disables both
- `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG`: the share of traces that is sampled
- `OTEL_METRIC_EXPORT_INTERVAL`: milliseconds between two exports of metrics

The SDK itself reads the others (headers, certificates, compression, timeouts, resource attributes, batches).
Promises, each tested:

- without variables nothing of OpenTelemetry is imported
- a slow or unreachable collector never blocks the event loop, and delays the exit by some seconds at most
- settings that cannot work are refused at the start; the error says what to do
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Literal

import msgspec

from homeostat import __version__
from homeostat.edge.metrics.exposition import Collector
from homeostat.edge.process.extras import install_command
from homeostat.runtime.telemetry.tracing import OFF, Tracer

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

log = logging.getLogger(__name__)

Signal = Literal["TRACES", "METRICS"]
_PROTOCOL = "http/protobuf"
_SHARES = {"always_on": 1.0, "always_off": 0.0}
_ERROR_EVERY_S = 300.0
_LOGGERS = tuple(f"opentelemetry.exporter.otlp.proto.http.{kind}_exporter" for kind in ("trace", "metric"))


class TelemetryError(Exception):
    """The environment variables ask for something that is not supported or not installed."""


class TelemetrySettings(msgspec.Struct, frozen=True):
    sends_traces: bool
    sends_metrics: bool
    ratio: float
    every_s: float

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> TelemetrySettings:
        is_disabled = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
        return cls(
            sends_traces=not is_disabled and _is_sent(environ, "TRACES"),
            sends_metrics=not is_disabled and _is_sent(environ, "METRICS"),
            ratio=_ratio(environ),
            every_s=_number(environ, "OTEL_METRIC_EXPORT_INTERVAL", 60_000.0, least=1.0) / 1000,
        )


@asynccontextmanager
async def telemetry(metrics: Collector, *, last_export_s: float = 5.0) -> AsyncIterator[Tracer]:
    """Yields a tracer, and exports metrics during the block. At its end, waits up to `last_export_s` for the rest.

    `TelemetryError` if the settings cannot work.
    """
    settings = TelemetrySettings.of(os.environ)
    if not (settings.sends_traces or settings.sends_metrics):
        yield OFF
        return
    try:
        from homeostat.runtime.telemetry.otlp_metrics import MetricExport
        from homeostat.runtime.telemetry.otlp_traces import SpanExport
    except ImportError as error:
        raise TelemetryError(
            "OTEL_* variables ask for telemetry, but OpenTelemetry is not installed: "
            f"{install_command('otel')}, or set OTEL_SDK_DISABLED=true"
        ) from error
    resource = _resource()
    with _rate_limited_errors():
        spans = SpanExport(resource) if settings.sends_traces else None
        figures = MetricExport(metrics, resource, every_s=settings.every_s) if settings.sends_metrics else None
        try:
            yield Tracer(spans.begin, ratio=settings.ratio) if spans is not None else OFF
        finally:
            async with asyncio.TaskGroup() as tasks:
                for export in (spans, figures):
                    if export is not None:
                        tasks.create_task(export.stop(last_export_s))


def _resource() -> Resource:
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource

    given = Resource.create()
    own: dict[str, str] = {}
    if str(given.attributes.get(SERVICE_NAME)).startswith("unknown_service"):
        own[SERVICE_NAME] = "homeostat"
    if SERVICE_VERSION not in given.attributes:
        own[SERVICE_VERSION] = __version__
    return given.merge(Resource(own))


def _is_sent(environ: Mapping[str, str], signal: Signal) -> bool:
    exporter = environ.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
    if exporter == "none" or (signal, exporter) == ("METRICS", "prometheus"):
        return False
    if exporter not in {"", "otlp"}:
        raise TelemetryError(f"OTEL_{signal}_EXPORTER={exporter}: only otlp is supported; set it to otlp or none")
    endpoint = _specific(environ, "ENDPOINT", signal)
    if not (endpoint or exporter):
        return False
    if endpoint and not endpoint.startswith(("http://", "https://")):
        raise TelemetryError(f"OTEL_EXPORTER_OTLP_ENDPOINT, for {signal.lower()}: must start with http:// or https://")
    protocol = _specific(environ, "PROTOCOL", signal) or _PROTOCOL
    if protocol != _PROTOCOL:
        raise TelemetryError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}, for {signal.lower()}: only {_PROTOCOL} is supported, "
            "which collectors accept on port 4318"
        )
    return True


def _specific(environ: Mapping[str, str], name: str, signal: Signal) -> str:
    found = environ.get(f"OTEL_EXPORTER_OTLP_{signal}_{name}") or environ.get(f"OTEL_EXPORTER_OTLP_{name}") or ""
    return found.strip()


def _ratio(environ: Mapping[str, str]) -> float:
    """Traces never start in another process, so the `parentbased_` samplers are the same as the others."""
    name = environ.get("OTEL_TRACES_SAMPLER", "").strip().lower() or "parentbased_always_on"
    sampler = name.removeprefix("parentbased_")
    if sampler == "traceidratio":
        return _number(environ, "OTEL_TRACES_SAMPLER_ARG", 1.0, least=0.0, most=1.0)
    if sampler not in _SHARES:
        log.warning("unknown sampler; sampling all traces", extra={"variable": "OTEL_TRACES_SAMPLER", "value": name})
    return _SHARES.get(sampler, 1.0)


def _number(
    environ: Mapping[str, str], name: str, default: float, *, least: float, most: float = float("inf")
) -> float:
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if least <= number <= most:
        return number
    log.warning("invalid number; using the default", extra={"variable": name, "value": text, "default": default})
    return default


@contextmanager
def _rate_limited_errors() -> Iterator[None]:
    """The SDK logs every failed attempt; this lets one through every few minutes."""
    filters = [(logging.getLogger(name), _RateLimit()) for name in _LOGGERS]
    for logger, each in filters:
        logger.addFilter(each)
    try:
        yield
    finally:
        for logger, each in filters:
            logger.removeFilter(each)


class _RateLimit(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._silent_until = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now < self._silent_until:
            return False
        self._silent_until = now + _ERROR_EVERY_S
        return True
