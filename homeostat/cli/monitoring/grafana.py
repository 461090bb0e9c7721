"""A Grafana dashboard from rows of panels. Pure.

Two variables choose whose metrics it shows: the job, and in a cluster the namespace of the processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from homeostat.cli.monitoring.target import VARIABLES
from homeostat.objects.json import JsonObject
from homeostat.runtime.deployment import Panel, Signals

Rows = Iterable[tuple[str, Sequence[Panel]]]
_WIDTH: Final = 24
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


def signals_dashboard(signals: Signals, *, name: str = "homeostat") -> JsonObject:
    """`name` is that of the application."""
    title = f"{name.capitalize()}: {signals.title}"
    return dashboard(f"{name}-{signals.name}", title, ["kubernetes", name], signals.panels.items())


def dashboard(uid: str, title: str, tags: Sequence[str], rows: Rows) -> JsonObject:
    panels: list[JsonObject] = []
    top = 0
    for heading, row in rows:
        panels.append(_row(len(panels) + 1, heading, top))
        top += 1
        width, height = (4, 4) if row[0].is_stat else (8, 8)
        across = _WIDTH // width
        for at, panel in enumerate(row):
            place = {"x": at % across * width, "y": top + at // across * height, "w": width, "h": height}
            panels.append(_panel(len(panels) + 1, panel, place))
        top += -(-len(row) // across) * height
    return {
        "uid": uid,
        "title": title,
        "tags": list(tags),
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus"},
                _variable("job"),
                _variable("namespace"),
            ]
        },
        "panels": panels,
    }


def _variable(label: str) -> JsonObject:
    """Of the processes that Prometheus scrapes; all of them until the user chooses."""
    return {
        "name": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": f"label_values(up, {label})", "refId": label},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _row(number: int, title: str, top: int) -> JsonObject:
    place = {"x": 0, "y": top, "w": _WIDTH, "h": 1}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}


def _panel(number: int, panel: Panel, place: JsonObject) -> JsonObject:
    target = {
        "refId": "A",
        "datasource": _SOURCE,
        "expr": VARIABLES.fill(panel.expression),
        "legendFormat": panel.legend,
    }
    return {
        "id": number,
        "type": "stat" if panel.is_stat else "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [target],
    }
