"""Compares the runtime sections; a missing section has empty fields. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.operators.contracts.engine.diff.change import Change, make_change
from homeostat.operators.contracts.engine.diff.service import diff_number, diff_text
from homeostat.operators.contracts.engine.document.contract import Health, Lifecycle, Metrics, Runtime


def diff_runtime(old: Runtime | None, new: Runtime | None) -> Iterator[Change]:
    before, after = old or Runtime(), new or Runtime()
    for path, previous, current in (
        ("workload", before.workload, after.workload),
        ("state.type", before.state.type, after.state.type),
        ("state.persistence.scope", before.state.persistence.scope, after.state.persistence.scope),
        ("state.persistence.durability", before.state.persistence.durability, after.state.persistence.durability),
        ("state.dataCriticality", before.state.data_criticality, after.state.data_criticality),
    ):
        if previous != current:
            yield make_change(f"runtime.{path}", "modified", previous, current)
    yield from _diff_lifecycle(before.lifecycle or Lifecycle(), after.lifecycle or Lifecycle())
    yield from _diff_endpoint("runtime.health", before.health or Health(), after.health or Health())
    yield from _diff_endpoint("runtime.metrics", before.metrics or Metrics(), after.metrics or Metrics())


def _diff_lifecycle(old: Lifecycle, new: Lifecycle) -> Iterator[Change]:
    yield from diff_text("runtime.lifecycle.upgradeStrategy", old.upgrade_strategy, new.upgrade_strategy)
    path = "runtime.lifecycle.gracefulShutdownSeconds"
    yield from diff_number(path, old.graceful_shutdown_seconds, new.graceful_shutdown_seconds)


def _diff_endpoint(path: str, old: Health | Metrics, new: Health | Metrics) -> Iterator[Change]:
    yield from diff_text(f"{path}.interface", old.interface, new.interface)
    yield from diff_text(f"{path}.path", old.path, new.path)
    if isinstance(old, Health) and isinstance(new, Health):
        delay = f"{path}.initialDelaySeconds"
        yield from diff_number(delay, old.initial_delay_seconds, new.initial_delay_seconds)
