"""Health and metrics over HTTP, for probes and Prometheus, on a port of their own.

    /healthz, /livez   whether the process works; if not, restart it
    /readyz            whether it is ready to work
    /metrics           metrics in the text format of Prometheus

A check is a function that returns a problem, or an empty text. The answer is `OK`, for `/readyz` `READY`; a failure is
a 503 with `NOT READY` and a line for each check. As on a Kubernetes API server, `?verbose` always shows these lines,
`?exclude=leader` skips a check and `/readyz/leader` runs one alone. Everybody who can reach the port can read it, so it
is on loopback by default. It changes nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qs

from homeostat.edge.limits import KIB, Limits
from homeostat.edge.metrics.exposition import CONTENT_TYPE, Collector
from homeostat.edge.metrics.page import MetricsPage
from homeostat.edge.metrics.process import ProcessFigures
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes
from homeostat.edge.server import Server, serve

Check = Callable[[], str]
Checks = Mapping[str, Check]

_TEXT = "text/plain; charset=utf-8"
_WORDS = {"readyz": "READY"}
_HEADERS = (("Cache-Control", "no-cache, private"), ("X-Content-Type-Options", "nosniff"))
_LIMITS = Limits(header_bytes=16 * KIB, target_bytes=4 * KIB, body_bytes=4 * KIB, max_connections=512)
MOST_SCRAPES = 8
"""Requests that wait for the page of metrics; further ones get 503. Their connections are idle, and give way to probes:
whoever asks for metrics again and again must not make a probe fail.
"""


@asynccontextmanager
async def serve_health(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    metrics: Collector,
    live: Checks | None = None,
    ready: Checks | None = None,
) -> AsyncIterator[Server]:
    """Serves during the block. Checks may be added to the mappings later."""
    routes = _routes(metrics, {} if live is None else live, {} if ready is None else ready)
    server = await serve(routes, host=host, port=port, limits=_LIMITS)
    try:
        yield server
    finally:
        await server.stop(grace_s=1.0)


def _routes(metrics: Collector, live: Checks, ready: Checks) -> Routes:
    routes = Routes()
    routes.add("GET", "/metrics", _Metrics(metrics).show)
    for name, checks in (("healthz", live), ("livez", live), ("readyz", ready)):
        page = _Page(name, checks)
        routes.add("GET", f"/{name}", page.show_all)
        routes.add("GET", f"/{name}/{{check}}", page.show_one)
    return routes


class _Metrics:
    def __init__(self, metrics: Collector) -> None:
        self._page = MetricsPage(metrics, ProcessFigures())
        self._waiting = 0

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        if self._waiting >= MOST_SCRAPES:
            return Reply(503, b"too many requests for metrics at once; try again later\n", _TEXT, _HEADERS)
        self._waiting += 1
        try:
            return Reply(200, await self._page.text(), CONTENT_TYPE, _HEADERS)
        finally:
            self._waiting -= 1


class _Page:
    def __init__(self, name: str, checks: Checks) -> None:
        self._name, self._checks = name, checks

    def show_all(self, request: Request, captured: Mapping[str, str]) -> Reply:
        query = parse_qs(request.query, keep_blank_values=True)
        excluded = query.get("exclude", ())
        chosen = {name: check for name, check in self._checks.items() if name not in excluded}
        return _outcome(self._name, chosen, is_verbose="verbose" in query)

    def show_one(self, request: Request, captured: Mapping[str, str]) -> Reply:
        name = captured["check"]
        if name not in self._checks:
            return Reply(404, f"{self._name} has no check {name}\n".encode(), _TEXT, _HEADERS)
        return _outcome(self._name, {name: self._checks[name]}, is_verbose=False)


def _outcome(page: str, checks: Checks, *, is_verbose: bool) -> Reply:
    wrong = {name: check() for name, check in checks.items()}
    is_failed = any(wrong.values())
    word = _WORDS.get(page, "OK")
    if not (is_failed or is_verbose):
        return Reply(200, word.encode(), _TEXT, _HEADERS)
    lines = [f"NOT {word}"] if is_failed else []
    lines += [f"[-]{name} failed: {reason}" if reason else f"[+]{name} ok" for name, reason in wrong.items()]
    lines.append(f"{page} check {'failed' if is_failed else 'passed'}")
    return Reply(503 if is_failed else 200, ("\n".join(lines) + "\n").encode(), _TEXT, _HEADERS)
