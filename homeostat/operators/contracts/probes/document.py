"""Requests the OpenAPI document that a service serves: JSON or YAML, of limited size.

A redirect is followed on the same host and port only: the contract says where the service is.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin, urlsplit

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import RestError
from homeostat.external.rest.request import Request, Response
from homeostat.operators.contracts.engine.checks.endpoint import TIMEOUT_S, Outcome
from homeostat.operators.contracts.probes.request import LONGEST_ERROR

MAX_DOCUMENT_BYTES: Final = 2 << 20
_MOST_REDIRECTS: Final = 3
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_HEADERS: Final = {"Accept": "application/json, application/yaml, text/yaml, */*;q=0.1", "Accept-Encoding": "identity"}
_TYPES: Final = ("json", "yaml", "yml", "text/plain", "application/octet-stream", "openapi")


async def send_document(client: RestClient, url: str, seconds: Callable[[], float]) -> Outcome:
    """Its error says why there is no document."""
    started = seconds()
    try:
        response, error = await _answer(client, url)
    except RestError as failure:
        response, error = None, failure.problem[:LONGEST_ERROR]
    latency_ms = max(1, round((seconds() - started) * 1000))
    if response is None or error:
        return Outcome(latency_ms=latency_ms, error=error)
    document = zlib.compress(response.body, 1)
    return Outcome(status_code=response.status, has_body=True, latency_ms=latency_ms, document=document)


async def _answer(client: RestClient, url: str) -> tuple[Response | None, str]:
    for _ in range(_MOST_REDIRECTS + 1):
        response = await client.send(
            Request("GET", url, headers=_HEADERS, timeout_s=TIMEOUT_S, largest=MAX_DOCUMENT_BYTES)
        )
        if response.status not in _REDIRECTS:
            return response, _problem(response)
        target = urljoin(url, response.headers.get("location", ""))
        if urlsplit(target)[:2] != urlsplit(url)[:2]:
            return None, "it redirects to another host, which is not followed"
        url = target
    return None, f"it redirects more than {_MOST_REDIRECTS} times"


def _problem(response: Response) -> str:
    """Why the answer is no document; empty if it may be one."""
    if response.status != 200:
        return f"it answered {response.status}; expected 200"
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind and not any(each in kind for each in _TYPES):
        return f"it answered {kind[:100]}; expected JSON or YAML"
    return "" if response.body.strip() else "it answered without a document"


def unpacked(outcome: Outcome | None) -> bytes:
    """The document of an outcome; it was limited before it was packed."""
    return zlib.decompress(outcome.document) if outcome is not None and outcome.document else b""
