"""The metrics of a plane beside its requests: store, watches, disk, certificates, process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from homeostat.edge.metrics.process import ProcessFigures
from homeostat.plane.settings import Settings
from homeostat.plane.storage import PlaneStore
from homeostat.server.metrics import Metrics
from homeostat.server.pki.certificate import read_pem
from homeostat.server.pki.directory import Pki
from homeostat.server.verbs.watch import Watches

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

EXPIRY: Final = "homeostat_certificate_expiry_timestamp_seconds"


def measure(metrics: Metrics, settings: Settings, pki: Pki, store: PlaneStore, watches: Watches) -> None:
    metrics.gauge("homeostat_watches", "Open watches", lambda: len(watches))
    metrics.gauge(
        "homeostat_effects_paused",
        "1 while operators do not act because the store was restored from a backup",
        lambda: int(store.is_restored),
    )
    metrics.gauge("homeostat_store_revision", "Newest revision", lambda: store.revision)
    metrics.gauge("homeostat_store_oldest_revision", "Oldest revision a watch may start at", lambda: store.oldest)
    metrics.gauge("homeostat_store_bytes", "Size of the database", lambda: store.database_bytes)
    metrics.gauge("homeostat_store_batches", "Commits since the start", lambda: store.counters.batches)
    metrics.gauge("homeostat_store_failures", "Commits refused since the start", lambda: store.counters.failures)
    metrics.gauge("homeostat_store_rows", "Changes committed since the start", lambda: store.counters.rows)
    place = settings.database.parent if isinstance(settings.database, Path) else settings.data
    metrics.include(DiskFigures(place))
    metrics.include(ProcessFigures())
    if not settings.is_open:
        metrics.include(CertificateFigures(pki))


def disk_bytes(place: Path) -> tuple[int, int]:
    """The size of its disk, and what a process without privileges may still write."""
    found = os.statvfs(place)
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


class DiskFigures:
    """The disk that the plane writes to. One that does not answer has no series."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily

        try:
            size, free = disk_bytes(self._place)
        except OSError:
            return
        yield GaugeMetricFamily("homeostat_disk_bytes", "Size of the disk that the plane writes to", value=size)
        yield GaugeMetricFamily("homeostat_disk_free_bytes", "Free space of that disk", value=free)


class CertificateFigures:
    """When the certificates on disk expire. One that cannot be read has no series."""

    def __init__(self, pki: Pki) -> None:
        self._files = {"authority": pki.authority, "server": pki.server, "admin": pki.admin}

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily

        family = GaugeMetricFamily(EXPIRY, "When a certificate of the plane expires", labels=("certificate",))
        for name, path in self._files.items():
            try:
                family.add_metric((name,), read_pem(path.read_bytes()).not_after.timestamp())
            except (OSError, ValueError):
                continue
        yield family
