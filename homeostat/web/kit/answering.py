"""Runs the handlers of an HTTP app: turns their errors into responses, counts requests, and logs them at `-v`.

Errors end here. A `RefusalError` or an error of the Kubernetes API becomes `{"detail": ..., "request_id": ...}`. An
unexpected error becomes a 500 that shows only the request id, under which the log has the traceback; pages for people
show that themselves. The log shows the path of a request and never its query or headers, which may hold credentials.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Mapping
from uuid import uuid4

from homeostat.client.base import UnreachableError
from homeostat.edge.handler import Answer
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes
from homeostat.objects.errors import ApiError
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.refusal import REQUEST_ID, RefusalError, refusal_of, refusal_reply
from homeostat.web.kit.routing import Page, ShowsFailure

log = logging.getLogger(__name__)
_is_id = re.compile(r"[A-Za-z0-9._-]{1,128}").fullmatch


class Answering:
    def __init__(self, figures: RestFigures) -> None:
        self._figures = figures

    def page(self, pattern: str, page: Page) -> Page:
        async def answer(request: Request, captured: Mapping[str, str]) -> Answer:
            began = time.perf_counter()
            reply = await answered(page, request, captured)
            self._record(request, pattern, reply, time.perf_counter() - began)
            return reply

        return answer

    async def handle(self, routes: Routes, request: Request) -> Answer:
        answer = routes(request)
        if isinstance(answer, Awaitable):
            return await answer
        # No route matches.
        self._record(request, "", answer, 0.0)
        return answer

    def _record(self, request: Request, pattern: str, answer: Answer, seconds: float) -> None:
        self._figures.answered(request.method, pattern, answer.status, seconds)
        if log.isEnabledFor(logging.INFO):
            facts = {"method": request.method, "path": request.path, "status": answer.status}
            log.info("request", extra={**facts, "ms": round(seconds * 1000, 1), "peer": request.peer.address})


async def answered(page: Page, request: Request, captured: Mapping[str, str]) -> Answer:
    try:
        return await page(request, captured)
    except RefusalError as error:
        return refusal_reply(error, _request_id(request))
    except ApiError as error:
        return refusal_reply(refusal_of(error), _request_id(request))
    except UnreachableError as error:
        log.warning("cannot reach the control plane", extra={"path": request.path, "reason": str(error)})
        unreached = RefusalError(503, "cannot reach the control plane", (("Retry-After", "5"),))
        return refusal_reply(unreached, _request_id(request))
    except Exception:
        number = _request_id(request)
        log.exception("request failed", extra={"method": request.method, "path": request.path, "request": number})
        for_people: object = page
        if isinstance(for_people, ShowsFailure):
            return for_people.failed(number)
        return refusal_reply(RefusalError(500, "internal error; see the log of this server"), number)


def _request_id(request: Request) -> str:
    """The caller's own `X-Request-Id` if it is valid, else a new one."""
    given = request.headers.get(REQUEST_ID.lower(), "")
    return given if _is_id(given) else uuid4().hex
