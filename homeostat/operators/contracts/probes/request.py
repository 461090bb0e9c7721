"""One probe: a GET whose answer may be of any size, slow, or no HTTP at all.

It ends within 5 s, follows no redirect and reads no more of the body than it takes to know that there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from homeostat.edge.proxies import read_proxies
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import RestError
from homeostat.external.rest.request import Request
from homeostat.external.rest.settings import RestSettings
from homeostat.external.rest.transport import Opened
from homeostat.operators.contracts.engine.checks.endpoint import TIMEOUT_S, Outcome

_HEADERS: Final = {"Accept": "*/*", "Accept-Encoding": "identity"}
LONGEST_ERROR: Final = 200
_UNREAD: Final = 1 << 62
"""No limit on what the server sends: the body is closed after its first bytes."""


def probe_client(environment: Mapping[str, str], *, connections: int) -> RestClient:
    """Every probe is sent, also to a host that failed before: the caller needs the result."""
    settings = RestSettings(
        proxies=read_proxies(environment), connect_s=TIMEOUT_S, connections=connections, breaker=None
    )
    return RestClient(settings)


async def send_probe(client: RestClient, url: str, seconds: Callable[[], float]) -> Outcome:
    started = seconds()
    status, has_body, error = 0, False, ""
    request = Request("GET", url, headers=_HEADERS, timeout_s=TIMEOUT_S, largest=_UNREAD)
    try:
        async with client.stream(request) as response:
            status = response.status
            has_body = await _has_body(response)
    except RestError as failure:
        # An endpoint that has answered is reachable, also if its body never comes or breaks off.
        error = "" if status else failure.problem[:LONGEST_ERROR]
    latency_ms = max(1, round((seconds() - started) * 1000))
    return Outcome(status_code=status, has_body=has_body, latency_ms=latency_ms, error=error)


async def _has_body(response: Opened) -> bool:
    async for chunk in response.chunks():
        if chunk:
            return True
    return False
