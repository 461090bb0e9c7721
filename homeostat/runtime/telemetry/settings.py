"""Traces and metrics by OTLP, set up by the variables that OpenTelemetry defines and by nothing else.

    async with telemetry(metrics) as tracer:
        ...

- `OTEL_EXPORTER_OTLP_ENDPOINT`, `..._TRACES_ENDPOINT`, `..._METRICS_ENDPOINT`: where to send; each switches it on
- `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`: `otlp` also without an endpoint (localhost then), `none` for never
- `OTEL_SDK_DISABLED`: `true` for neither
- `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG`: which share of the traces is kept
- `OTEL_METRIC_EXPORT_INTERVAL`: milliseconds between two sendings of the figures

What else there is (headers, certificates, compression, timeouts, resource attributes, batches) the SDK reads itself.
Promises, each tested:

- without variables nothing of OpenTelemetry is imported
- a collector that is slow or away never holds up the event loop, and the end by some seconds at most
- what cannot work is refused at the start, with a word on what to do
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from homeostat import __version__
from homeostat.edge.metrics.exposition import Collector
from homeostat.runtime.telemetry.tracing import OFF, Tracer

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

log = logging.getLogger(__name__)

Signal = Literal["TRACES", "METRICS"]
_PROTOCOL = "http/protobuf"
_SHARES = {"always_on": 1.0, "always_off": 0.0}
_COMPLAINT_EVERY_S = 300.0
_COMPLAINING = tuple(f"opentelemetry.exporter.otlp.proto.http.{kind}_exporter" for kind in ("trace", "metric"))


class TelemetryError(Exception):
    """The variables ask for what cannot be done here."""


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
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
async def telemetry(metrics: Collector, *, last_words_s: float = 5.0) -> AsyncIterator[Tracer]:
    """A tracer, and the figures sent meanwhile; `TelemetryError` where that is asked for and cannot be.

    The end waits no longer than `last_words_s` for what is yet to be sent.
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
            "pip install 'homeostat-plane[otel]', or set OTEL_SDK_DISABLED=true"
        ) from error
    resource = _resource()
    with _rationed_complaints():
        spans = SpanExport(resource) if settings.sends_traces else None
        figures = MetricExport(metrics, resource, every_s=settings.every_s) if settings.sends_metrics else None
        try:
            yield Tracer(spans.begin, ratio=settings.ratio) if spans is not None else OFF
        finally:
            async with asyncio.TaskGroup() as tasks:
                for export in (spans, figures):
                    if export is not None:
                        tasks.create_task(export.stop(last_words_s))


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
        raise TelemetryError(f"OTEL_{signal}_EXPORTER={exporter}: only otlp is there; set it to otlp or none")
    endpoint = _specific(environ, "ENDPOINT", signal)
    if not (endpoint or exporter):
        return False
    if endpoint and not endpoint.startswith(("http://", "https://")):
        raise TelemetryError(f"OTEL_EXPORTER_OTLP_ENDPOINT, for {signal.lower()}: wants http://... or https://...")
    protocol = _specific(environ, "PROTOCOL", signal) or _PROTOCOL
    if protocol != _PROTOCOL:
        raise TelemetryError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}, for {signal.lower()}: only {_PROTOCOL} is there, "
            "which collectors take on port 4318"
        )
    return True


def _specific(environ: Mapping[str, str], name: str, signal: Signal) -> str:
    found = environ.get(f"OTEL_EXPORTER_OTLP_{signal}_{name}") or environ.get(f"OTEL_EXPORTER_OTLP_{name}") or ""
    return found.strip()


def _ratio(environ: Mapping[str, str]) -> float:
    """Nobody hands us traces that they began, so what a sampler does about those does not matter."""
    name = environ.get("OTEL_TRACES_SAMPLER", "").strip().lower() or "parentbased_always_on"
    sampler = name.removeprefix("parentbased_")
    if sampler == "traceidratio":
        return _number(environ, "OTEL_TRACES_SAMPLER_ARG", 1.0, least=0.0, most=1.0)
    if sampler not in _SHARES:
        log.warning("unknown sampler, keeping all traces", extra={"variable": "OTEL_TRACES_SAMPLER", "value": name})
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
    log.warning("unusable number, taking the default", extra={"variable": name, "value": text, "default": default})
    return default


@contextmanager
def _rationed_complaints() -> Iterator[None]:
    """The SDK complains of every attempt; of a collector that is away one hears now and then."""
    rations = [(logging.getLogger(name), _Ration()) for name in _COMPLAINING]
    for logger, ration in rations:
        logger.addFilter(ration)
    try:
        yield
    finally:
        for logger, ration in rations:
            logger.removeFilter(ration)


class _Ration(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._silent_until = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now < self._silent_until:
            return False
        self._silent_until = now + _COMPLAINT_EVERY_S
        return True
