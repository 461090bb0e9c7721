"""Panels that several dashboards have. Pure."""

from __future__ import annotations

from homeostat.runtime.deployment import Panel
from homeostat.runtime.telemetry.promql import quantile, rate


def reconcile_panels(where: str = "$target") -> tuple[Panel, ...]:
    """How often the selected controllers reconcile, with which outcome, and how long it takes."""
    by_outcome = rate("homeostat_reconciles_total", "controller", "outcome", where=where)
    seconds = quantile("homeostat_reconcile_seconds", "controller", where=where)
    return (
        Panel("Reconciles", by_outcome, "{{controller}} {{outcome}}", "ops"),
        Panel("Reconcile time, p99", seconds, "{{controller}}", "s"),
    )


def process_panels(*labels: str) -> tuple[Panel, ...]:
    """What each process uses. The labels tell the processes apart."""
    legend = " ".join(f"{{{{{each}}}}}" for each in labels)
    return (
        Panel("CPU", rate("process_cpu_seconds_total", *labels), legend, "percentunit"),
        Panel("Memory", "process_resident_memory_bytes{$target}", legend, "bytes"),
        Panel("Open files", "process_open_fds{$target}", legend),
    )
