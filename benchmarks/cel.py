"""Expressions as rules and policies have them: how long each takes to compile, and how often a second it evaluates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from timeit import Timer
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from benchmarks.report import console
from homeostat.cel import INT, STRING, Environment, ListType, MapType, ObjectType

_CONTAINER = ObjectType("Container", {"name": STRING, "image": STRING, "ports": ListType(INT)})
_SPEC = ObjectType(
    "Spec", {"replicas": INT, "host": STRING, "containers": ListType(_CONTAINER), "labels": MapType(STRING, STRING)}
)
_ENVIRONMENT = Environment({"self": ObjectType("Widget", {"spec": _SPEC})})
_WIDGET: dict[str, Any] = {
    "spec": {
        "replicas": 3,
        "host": "web.example.com",
        "containers": [
            {"name": f"c{number}", "image": f"registry.example.com/app/c{number}:1.{number}", "ports": [8080, 9090]}
            for number in range(5)
        ],
        "labels": {"app": "web", "tier": "front", "team": "red"},
    }
}
_EXPRESSIONS = (
    "self.spec.replicas <= 10",
    "self.spec.replicas > 0 && self.spec.replicas <= 10 && size(self.spec.host) < 64",
    "has(self.spec.labels) && 'app' in self.spec.labels && self.spec.labels['app'] == 'web'",
    "self.spec.host.endsWith('.example.com')",
    "self.spec.host.matches('^[a-z0-9.-]+$')",
    "self.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
    "self.spec.containers.exists(c, c.ports.exists(p, p == 9090))",
    "self.spec.containers.map(c, c.name).join(',')",
    "!self.spec.containers.exists(c, c.image.endsWith(':latest'))",
)


def show_expressions() -> None:
    table = Table(title="CEL", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("expression")
    table.add_column("compile us", justify="right")
    table.add_column("evaluations a second", justify="right")
    for text in _EXPRESSIONS:
        program = _ENVIRONMENT.compile(text)
        bindings = {"self": _WIDGET}
        compile_s = _seconds(partial(_ENVIRONMENT.compile, text))
        evaluate_s = _seconds(partial(program.evaluate, bindings))
        table.add_row(escape(text), f"{compile_s * 1e6:.0f}", f"{1 / evaluate_s:,.0f}")
    console().print(table)


def _seconds(work: Callable[[], object]) -> float:
    """Of one call, by the quietest of five rounds."""
    timer = Timer(work)
    count = max(1, timer.autorange()[0] // 5)
    return min(timer.repeat(5, count)) / count
