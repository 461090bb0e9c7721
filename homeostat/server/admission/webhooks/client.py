"""Calls webhooks over HTTPS, with one session for all of them, opened at the first call.

Certificates are always verified, redirects are not followed, responses are limited in size and time. A webhook behind a
Service is reachable only if the Service has the type `ExternalName`, because there is no cluster network here.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from traceback import clear_frames
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import msgspec

from homeostat.edge.imports import import_in_thread
from homeostat.edge.threads import in_thread
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.admission.pace import CallPace, Deadlines, Room, Share, Shares
from homeostat.store.base import Key, Store

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_MOST_CONTEXTS = 64
MOST_CALLS = 4
"""Calls that begin, or time out, in one turn of the event loop."""
MOST_BYTES = 64 * 1024 * 1024
"""Of large calls under way; further large ones wait. A host may have as much as all of them leave free."""
MAX_ANSWER_BYTES = 8 * 1024 * 1024
_LARGE_BODY = _LARGE_ANSWER = 64 * 1024
MOST_ANSWER_BYTES = 64 * 1024 * 1024
"""Of large answers that are being received and read. A host may have as much as all of them leave free."""
_BUFFER = 64 * 1024
"""Twice as much waits at most for whoever reads an answer."""
_JSON = "application/json"


class CallError(Exception):
    """A webhook could not be called."""


class Endpoint(msgspec.Struct, frozen=True):
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

Body = bytes | Callable[[], bytes]
"""The body of a call, or a function that makes it when the call begins."""


def _content(body: Body) -> bytes:
    return body if isinstance(body, bytes) else body()


def _failure(message: str, error: BaseException) -> CallError:
    """The error of a call, without what led to it.

    The frames of the client hold their errors, which hold the frames: a hundred objects of each failed call would wait
    for the garbage collector, which takes half a second for those of 4,000 calls.
    """
    cause: BaseException | None = error
    while cause is not None:
        clear_frames(cause.__traceback__)
        cause = cause.__cause__ or cause.__context__
    return CallError(message)


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
        self._pace = CallPace(MOST_CALLS)
        self._deadlines = Deadlines(MOST_CALLS)
        self._room = Room(MOST_BYTES)
        self._answers = Shares(MOST_ANSWER_BYTES)
        self._reading: dict[str, asyncio.Task[ssl.SSLContext]] = {}

    @asynccontextmanager
    async def post(
        self, address: Address, authorities: str, body: Body, *, timeout_s: float, large_for: str = ""
    ) -> AsyncIterator[bytes]:
        """The body of the response, for which there is room until the caller has read it; `CallError` if there is none.

        A large body waits for room and is made in a thread, in turn with those of other users: `large_for` is the user.
        """
        with self._answers.share(urlsplit(address.url).netloc) as share:
            call = self._post(address, authorities, body, share, timeout_s=timeout_s, large_for=large_for)
            # In a new task: a call that has not waited yet has none, and timeouts need one.
            yield await asyncio.create_task(call)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _post(
        self, address: Address, authorities: str, body: Body, share: Share, *, timeout_s: float, large_for: str
    ) -> bytes:
        await import_in_thread("homeostat.edge.responses")
        context = _contexts.get(authorities) or await self._read_context(authorities)
        from aiohttp import ClientConnectorError, ClientError

        where = f'Post "{address.url}?timeout={timeout_s:g}s"'
        try:
            async with self._deadlines.within(timeout_s):
                if large_for:
                    return await self._post_large(address, context, body, share, timeout_s=timeout_s, user=large_for)
                await self._pace.turn()
                return await self._ask(address, context, _content(body), share, timeout_s=timeout_s)
        except TimeoutError as error:
            raise _failure(f"{where}: timed out after {timeout_s:g} seconds", error) from None
        except ClientConnectorError as error:
            # The text of the error itself shows an object in memory.
            raise _failure(f"{where}: cannot connect to {error.host}:{error.port}: {error.os_error}", error) from None
        except (ClientError, OSError, ValueError) as error:
            raise _failure(f"{where}: {error}", error) from None

    async def _post_large(
        self, address: Address, context: ssl.SSLContext, body: Body, share: Share, *, timeout_s: float, user: str
    ) -> bytes:
        async with self._room.place(share.owner) as take:
            content = await in_thread(partial(_content, body), user=user)
            take(len(content))
            await self._pace.turn()
            return await self._ask(address, context, content, share, timeout_s=timeout_s)

    async def _read_context(self, authorities: str) -> ssl.SSLContext:
        """Reading the authorities of the system takes 30 ms: in a thread, and once for all calls that wait for it."""
        reading = self._reading.get(authorities)
        if reading is None:
            reading = self._reading[authorities] = asyncio.create_task(asyncio.to_thread(_context, authorities))
            reading.add_done_callback(lambda _: self._reading.pop(authorities, None))
        return await asyncio.shield(reading)

    async def _ask(
        self, address: Address, context: ssl.SSLContext, body: bytes, share: Share, *, timeout_s: float
    ) -> bytes:
        from aiohttp import ServerDisconnectedError

        try:
            return await self._exchange(address, context, body, share, timeout_s=timeout_s)
        except ServerDisconnectedError:
            # The peer closed an idle connection just now.
            return await self._exchange(address, context, body, share, timeout_s=timeout_s)

    async def _exchange(
        self, address: Address, context: ssl.SSLContext, body: bytes, share: Share, *, timeout_s: float
    ) -> bytes:
        async with self._opened().post(
            address.url,
            params={"timeout": f"{timeout_s:g}s"},
            # aiohttp writes bytes in one piece, which takes 10 ms if they are many.
            data=io.BytesIO(body) if len(body) > _LARGE_BODY else body,
            ssl=context,
            server_hostname=address.server_name,
            headers={"Host": address.server_name} if address.server_name else None,
            allow_redirects=False,
        ) as answer:
            if not 200 <= answer.status < 300:
                raise CallError(f'Post "{address.url}": the webhook returned HTTP {answer.status}')
            return await _received(answer, address, share)

    def _opened(self) -> ClientSession:
        if self._session is None:
            from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

            from homeostat.edge.responses import PacedConnector

            self._session = ClientSession(
                connector=PacedConnector(limit=0),
                cookie_jar=DummyCookieJar(),
                timeout=ClientTimeout(total=None),
                auto_decompress=False,
                read_bufsize=_BUFFER,
                headers={
                    "Content-Type": _JSON,
                    "Accept": f"{_JSON}, */*",
                    "Accept-Encoding": "identity",
                    "User-Agent": "homeostat",
                },
            )
        return self._session


async def _received(answer: ClientResponse, address: Address, share: Share) -> bytes:
    """The body of a response. A large one waits for room: the webhook sends no more meanwhile."""
    content = bytearray()
    async for part in answer.content.iter_any():
        content += part
        if len(content) > MAX_ANSWER_BYTES:
            raise CallError(f'Post "{address.url}": the response is larger than {MAX_ANSWER_BYTES} bytes')
        if len(content) > _LARGE_ANSWER and not share.size:
            await share.take(min(answer.content_length or MAX_ANSWER_BYTES, MAX_ANSWER_BYTES))
    return bytes(content)
