"""Calls webhooks over HTTPS, with one session for all of them, opened at the first call.

Certificates are always verified, redirects are not followed, responses are limited in size and time. A webhook behind a
Service is reachable only if the Service has the type `ExternalName`, because there is no cluster network here.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from homeostat.edge.imports import import_aside
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.store.base import Key, Store

if TYPE_CHECKING:
    from aiohttp import ClientSession

_MOST_CONTEXTS = 64
MOST_CALLS = 8
"""Calls that begin in one turn of the event loop."""
MAX_ANSWER_BYTES = 8 * 1024 * 1024
_JSON = "application/json"


class CallError(Exception):
    """A webhook could not be called."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The `clientConfig` of a webhook: a URL, or a Service with port and path. `authorities` is base64."""

    url: str = ""
    namespace: str = ""
    service: str = ""
    path: str = ""
    port: int = 443
    authorities: str = ""


class Address(NamedTuple):
    url: str
    server_name: str | None
    """The name that the certificate must have, if it is not the host of the URL."""


def endpoint_of(config: JsonObject) -> Endpoint:
    service = config.get("service") or {}
    return Endpoint(
        url=config.get("url") or "",
        namespace=service.get("namespace", ""),
        service=service.get("name", ""),
        path=service.get("path") or "/",
        port=service.get("port") or 443,
        authorities=config.get("caBundle") or "",
    )


def address_of(endpoint: Endpoint, store: Store) -> Address:
    """The address of an endpoint; `CallError` for a Service inside a cluster."""
    if endpoint.url:
        return Address(endpoint.url, None)
    name, namespace = endpoint.service, endpoint.namespace
    record = store.get(Key("services", namespace, name))
    if record is None:
        raise CallError(f'service "{name}" not found in namespace "{namespace}"')
    spec = decode_stored(record.value).get("spec") or {}
    if spec.get("type") != "ExternalName":
        raise CallError(
            f'service "{name}" in namespace "{namespace}" is of type {spec.get("type")}, and there is no cluster '
            "network here: set clientConfig.url, or make it a Service of type ExternalName"
        )
    return Address(f"https://{spec['externalName']}:{endpoint.port}{endpoint.path}", f"{name}.{namespace}.svc")


_contexts: dict[str, ssl.SSLContext] = {}


def _context(authorities: str) -> ssl.SSLContext:
    """Without a `caBundle`, the webhook's certificate must be signed by an authority of the system."""
    try:
        trusted = base64.b64decode(authorities).decode("ascii") if authorities else None
        made = ssl.create_default_context(cadata=trusted)
        if len(_contexts) >= _MOST_CONTEXTS:
            _contexts.clear()
        _contexts[authorities] = made
        return made
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError, ValueError) as error:
        raise CallError(f"the caBundle is invalid: {error}") from error


class WebhookClient:
    def __init__(self) -> None:
        self._session: ClientSession | None = None
        self._starting = 0

    async def post(self, address: Address, authorities: str, body: bytes, *, timeout_s: float) -> bytes:
        """The body of the response; `CallError` if there is none."""
        # In a new task: a call that has not waited yet has none, and timeouts need one.
        return await asyncio.create_task(self._post(address, authorities, body, timeout_s=timeout_s))

    async def _wait_for_turn(self) -> None:
        """A write may call hundreds of webhooks, and to open a connection takes half a millisecond."""
        turns, self._starting = self._starting // MOST_CALLS, self._starting + 1
        for _ in range(turns):
            await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(self._has_started)

    def _has_started(self) -> None:
        self._starting -= 1

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _post(self, address: Address, authorities: str, body: bytes, *, timeout_s: float) -> bytes:
        await import_aside("aiohttp")
        await self._wait_for_turn()
        # Reading the authorities of the system takes 30 ms.
        context = _contexts.get(authorities)
        if context is None:
            context = await asyncio.to_thread(_context, authorities)
        from aiohttp import ClientError, ServerDisconnectedError

        where = f'Post "{address.url}?timeout={timeout_s:g}s"'
        try:
            async with asyncio.timeout(timeout_s):
                try:
                    return await self._exchange(address, context, body, timeout_s=timeout_s)
                except ServerDisconnectedError:
                    # The peer closed an idle connection just now.
                    return await self._exchange(address, context, body, timeout_s=timeout_s)
        except TimeoutError as error:
            raise CallError(f"{where}: timed out after {timeout_s:g} seconds") from error
        except (ClientError, OSError, ValueError) as error:
            raise CallError(f"{where}: {error}") from error

    async def _exchange(self, address: Address, context: ssl.SSLContext, body: bytes, *, timeout_s: float) -> bytes:
        async with self._opened().post(
            address.url,
            params={"timeout": f"{timeout_s:g}s"},
            data=body,
            ssl=context,
            server_hostname=address.server_name,
            headers={"Host": address.server_name} if address.server_name else None,
            allow_redirects=False,
        ) as answer:
            if not 200 <= answer.status < 300:
                raise CallError(f'Post "{address.url}": the webhook returned HTTP {answer.status}')
            parts, size = [], 0
            async for part in answer.content.iter_any():
                parts.append(part)
                size += len(part)
                if size > MAX_ANSWER_BYTES:
                    raise CallError(f'Post "{address.url}": the response is larger than {MAX_ANSWER_BYTES} bytes')
            return b"".join(parts)

    def _opened(self) -> ClientSession:
        if self._session is None:
            from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

            self._session = ClientSession(
                connector=TCPConnector(limit=0),
                cookie_jar=DummyCookieJar(),
                timeout=ClientTimeout(total=None),
                auto_decompress=False,
                headers={
                    "Content-Type": _JSON,
                    "Accept": _JSON,
                    "Accept-Encoding": "identity",
                    "User-Agent": "homeostat-admission",
                },
            )
        return self._session
