"""Prometheus metrics of a certificate that is served: when it expires, and how often it was renewed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from homeostat.web.certificates.renewal import Renewal


class CertificateMetrics:
    """Of a served certificate; the names of its metrics start with the prefix."""

    def __init__(self, renewal: Renewal, *, prefix: str) -> None:
        self._renewal, self._prefix = renewal, prefix

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        renewal, prefix = self._renewal, self._prefix
        for name, text, time in (
            ("start_timestamp_seconds", "When the served certificate became valid", renewal.starts),
            ("expiry_timestamp_seconds", "When the served certificate expires", renewal.expires),
        ):
            yield GaugeMetricFamily(f"{prefix}_{name}", text, value=time.timestamp())
        for name, text, count in (
            ("renewals_total", "Renewals of the certificate", renewal.renewals),
            ("renewal_failures_total", "Failed renewals of the certificate", renewal.failures),
        ):
            yield CounterMetricFamily(f"{prefix}_{name}", text, value=count)
