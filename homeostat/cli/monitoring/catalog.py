"""The signals of operators, from what their modules declare. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from homeostat.runtime.deployment import Signals
from homeostat.runtime.telemetry.signals import SIGNALS as RUNTIME


def operator_signals(modules: Mapping[str, Any]) -> list[Signals]:
    """Those of the runtime, then those of each operator that declares some; modules by the name of the operator."""
    return [RUNTIME, *_declared(modules.items())]


def _declared(modules: Iterable[tuple[str, Any]]) -> Iterable[Signals]:
    for name, module in modules:
        alerts, panels = getattr(module, "ALERTS", ()), getattr(module, "PANELS", {})
        if alerts or panels:
            yield Signals(name=name, title=name, alerts=alerts, panels=panels)
