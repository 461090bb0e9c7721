"""The validating webhook: reviews a Pod for an API server by the policies of its namespace.

    POST /validate   an AdmissionReview (admission.k8s.io/v1)
    GET  /healthz    OK
    GET  /readyz     READY once all policies are loaded; 503 before, and with an expired certificate
    GET  /metrics    Prometheus metrics

Promises, each tested: every request gets a response; an invalid review is 400 and allowed; nothing is denied before the
policies are loaded, nor by a policy that cannot be evaluated in time. If the webhook does not respond at all, the
`failurePolicy` of its configuration decides.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple, Protocol
from urllib.parse import parse_qs

from homeostat.client.base import Client
from homeostat.edge.limits import KIB, MIB, Limits
from homeostat.edge.metrics.exposition import CONTENT_TYPE
from homeostat.edge.metrics.page import MetricsPage
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request as HttpRequest
from homeostat.edge.routes import Routes
from homeostat.edge.server import Server, serve
from homeostat.edge.threads import in_thread
from homeostat.objects.json import encode
from homeostat.objects.memory.cache import cached
from homeostat.objects.time.duration import DurationError, parse_duration
from homeostat.operators.policy.admission.review import ALLOWED, Request, Verdict, answer, judge, read_request
from homeostat.operators.policy.admission.webhook_configuration import PATH
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.stalled import StalledPolicy
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.telemetry.metrics import Metrics
from homeostat.web.admission.metrics import AdmissionMetrics
from homeostat.web.admission.policies import ActivePolicies
from homeostat.web.certificates.files import FileCertificate
from homeostat.web.certificates.renewal import Renewal
from homeostat.web.kit.large_body import LARGE_BYTES

GRACE_S = 5.0
LIMITS = Limits(
    header_bytes=32 * KIB,
    body_bytes=8 * MIB,
    bodies_bytes=128 * MIB,
    max_connections=1024,
    header_timeout_s=10.0,
    body_timeout_s=10.0,
    stall_timeout_s=10.0,
)
"""A review holds an object twice: the old and the new version."""
_LARGE_AT_ONCE = 2
_MOST_AT_ONCE = 500
"""Containers, each counted once for each policy, that are checked on the event loop: some milliseconds."""
_LONGEST_S = 2.0
_SHARE = 0.5
"""The part of the caller's timeout that is used; the rest is for the network."""
_TEXT = "text/plain; charset=utf-8"
_OF_A_SECOND = 1e-9


class Policies(Protocol):
    """The policies that apply."""

    @property
    def is_known(self) -> bool: ...
    def knows(self, namespace: str) -> bool: ...
    def of(self, namespace: str) -> list[Evaluator]: ...
    def stalled(self, namespace: str) -> list[StalledPolicy]: ...


class Gate:
    """Handles requests. `clock` counts seconds, `now` returns the wall clock."""

    def __init__(
        self,
        policies: Policies,
        metrics: AdmissionMetrics,
        *,
        clock: Callable[[], float] = time.perf_counter,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._policies, self._metrics = policies, metrics
        self._clock, self._now = clock, now
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    def validate(self, request: HttpRequest, captured: Mapping[str, str]) -> Reply | Awaitable[Reply]:
        began = self._clock()
        if len(request.body) > LARGE_BYTES:
            return self._validated_in_thread(request, began)
        return self._validated(request, read_request(request.body), began)

    async def _validated_in_thread(self, request: HttpRequest, began: float) -> Reply:
        # What was read takes twenty times the memory of the body, so it does not wait in a queue.
        async with self._large:
            asked = await in_thread(lambda: read_request(request.body, in_pieces=True), user="large reviews")
            reply = self._validated(request, asked, began)
            return await reply if isinstance(reply, Awaitable) else reply

    def _validated(self, request: HttpRequest, asked: Request | None, began: float) -> Reply | Awaitable[Reply]:
        if asked is None:
            self._metrics.answered("", "", Counter(), self._clock() - began)
            return Reply(400, encode(answer("")))
        found = self._policies.of(asked.namespace)
        policies = InTime(found, self._clock, until=began + _patience_s(request.query))
        if not self._policies.is_known:
            return self._reply(asked, policies, _outcome(asked, ALLOWED), began)
        stalled = self._policies.stalled(asked.namespace)
        judged = partial(judge, asked, policies, now=self._now(), stalled=stalled)
        work = asked.containers * (len(found) + len(stalled))
        if len(request.body) > LARGE_BYTES or work > _MOST_AT_ONCE or any(each.needs_body for each in found):
            return self._judged_in_thread(asked, policies, judged, began)
        return self._reply(asked, policies, _outcome(asked, judged()), began)

    async def _judged_in_thread(
        self, asked: Request, policies: InTime, judged: Callable[[], Verdict], began: float
    ) -> Reply:
        """In a thread: rules may take long, and meanwhile the loop must answer other reviews and probes."""
        found = await in_thread(lambda: _outcome(asked, judged()), user=asked.namespace)
        return self._reply(asked, policies, found, began)

    def _reply(self, asked: Request, policies: InTime, found: _Outcome, began: float) -> Reply:
        if policies.is_late:
            self._metrics.hurried += 1
        namespace = asked.namespace if self._policies.knows(asked.namespace) else ""
        seconds = self._clock() - began
        self._metrics.answered(asked.operation, namespace, found.denied, seconds)
        return Reply(200, found.body)

    def show_readiness(self, request: HttpRequest, captured: Mapping[str, str]) -> Reply:
        renewal = self._metrics.renewal
        if renewal is not None and renewal.is_expired:
            return Reply(503, f"NOT READY\nthe certificate expired at {renewal.expires}".encode(), _TEXT)
        return Reply(200, b"READY", _TEXT) if self._policies.is_known else Reply(503, b"NOT READY", _TEXT)


class _Outcome(NamedTuple):
    body: bytes
    denied: Counter[str]
    """How many findings of each check deny the Pod."""


def _outcome(asked: Request, verdict: Verdict) -> _Outcome:
    return _Outcome(encode(answer(asked.uid, verdict)), Counter(each.check.type for each in verdict.denials))


class InTime:
    """Yields policies until the deadline."""

    def __init__(self, policies: Sequence[Evaluator], clock: Callable[[], float], *, until: float) -> None:
        self._policies, self._clock, self._until = policies, clock, until
        self.is_late = False

    def __iter__(self) -> Iterator[Evaluator]:
        for policy in self._policies:
            if self._clock() >= self._until:
                self.is_late = True
                return
            yield policy


@cached(64)
def _patience_s(query: str) -> float:
    """An API server sends its own timeout as `?timeout=10s`."""
    values = parse_qs(query).get("timeout")
    if not values:
        return _LONGEST_S
    try:
        return min(parse_duration(values[0]) * _OF_A_SECOND * _SHARE, _LONGEST_S)
    except DurationError:
        return _LONGEST_S


@asynccontextmanager
async def serve_admission(
    client: Client,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    certificate: FileCertificate | None = None,
    renewal: Renewal | None = None,
    limits: Limits = LIMITS,
) -> AsyncIterator[Server]:
    """Serves inside the block; at its end, requests in progress are completed. Plain HTTP without a certificate."""
    informers, metrics = Informers(client), Metrics()
    metrics.watch_informers(informers)
    figures = AdmissionMetrics(lambda: policies.stalled_count, renewal)
    policies = ActivePolicies(informers, figures.forget)
    gate = Gate(policies, figures)
    routes = Routes()
    routes.add("POST", PATH, gate.validate)
    routes.add("GET", "/healthz", lambda *_: Reply(200, b"OK", _TEXT))
    routes.add("GET", "/readyz", gate.show_readiness)
    page = MetricsPage(figures, metrics)

    async def show_metrics(_request: HttpRequest, _captured: Mapping[str, str]) -> Reply:
        return Reply(200, await page.text(), CONTENT_TYPE)

    routes.add("GET", "/metrics", show_metrics)
    context = certificate.context if certificate is not None else None
    server = await serve(routes, host=host, port=port, ssl=context, limits=limits)
    async with asyncio.TaskGroup() as tasks:
        following: list[asyncio.Task[object]] = [
            tasks.create_task(informers.run()),
            tasks.create_task(policies.run()),
        ]
        if certificate is not None:
            following.append(tasks.create_task(certificate.follow()))
        if renewal is not None:
            following.append(tasks.create_task(renewal.run()))
        try:
            yield server
        finally:
            await server.stop(grace_s=GRACE_S)
            for task in following:
                task.cancel()
