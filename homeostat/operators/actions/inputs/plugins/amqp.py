"""Input `amqp`: messages of a RabbitMQ queue, one after the other.

A message is acknowledged after its declaration is on disk. After a crash it is delivered again, which is harmless. An
invalid message is rejected and goes to the dead letters of the queue; the status of the input says why. The queue must
exist; this plugin does not declare it. It uses `aiormq`, the extra `amqp`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Meta

from homeostat.edge.process.extras import install_command
from homeostat.external.dial import open_stream
from homeostat.external.secrets.secrets import SecretReference
from homeostat.operators.actions.inputs.plugins.message import Withdrawal, read_message
from homeostat.operators.actions.inputs.plugins.plugin import Desk, InputError, InputJob, Tools
from homeostat.operators.actions.inputs.plugins.reading import RefusedError

if TYPE_CHECKING:
    from aiormq.abc import AbstractChannel, DeliveredMessage
    from yarl import URL

_CONNECT_S: Final = 30.0
_CLOSE_S: Final = 5.0


class AmqpConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    url: Annotated[str, Meta(description="amqps://host/vhost")]
    queue: Annotated[str, Meta(min_length=1, max_length=255)]
    username: str = "guest"
    password: SecretReference | None = None
    prefetch: Annotated[int, Meta(ge=1, le=1000)] = 10
    heartbeat_seconds: Annotated[int, Meta(ge=1, le=600)] = 30


class AmqpInput:
    name, version, config = "amqp", "1.0.0", AmqpConfig

    def __init__(self, tools: Tools) -> None:
        """It needs none of them."""

    async def feed(self, job: InputJob[AmqpConfig], desk: Desk) -> None:
        aiormq = await _library()
        url = await _address(job)
        try:
            async with asyncio.timeout(_CONNECT_S):
                connection = await aiormq.connect(url, transport_factory=_Transport())
            try:
                await self._consume(await connection.channel(), job, desk)
            finally:
                with suppress(aiormq.AMQPError, OSError, TimeoutError):
                    await connection.close(timeout=_CLOSE_S)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # The library cancels pending calls when the connection is lost.
            raise InputError("Disconnected", "the connection to the broker was lost") from None
        except (aiormq.AMQPError, OSError) as error:
            raise InputError("Disconnected", f"{type(error).__name__}: {_text_of(error)}") from error

    async def _consume(self, channel: AbstractChannel, job: InputJob[AmqpConfig], desk: Desk) -> None:
        queue = job.config.queue
        arrived: asyncio.Queue[DeliveredMessage | None] = asyncio.Queue()

        async def take(message: DeliveredMessage) -> None:
            arrived.put_nowait(message)

        def end(_: Any) -> None:
            arrived.put_nowait(None)

        channel.closing.add_done_callback(end)
        channel.on_consumer_cancel_callbacks.add(end)
        await channel.basic_qos(prefetch_count=job.config.prefetch)
        await channel.queue_declare(queue, passive=True)
        await channel.basic_consume(queue, take)
        desk.connected()
        while (message := await arrived.get()) is not None:
            await _deal(channel, message, job, desk)
        raise InputError("Disconnected", f'the broker cancelled the consumer of queue "{queue}"')


class _Transport:
    """Connects for the library, to addresses that may be connected to."""

    async def create(self, url: URL, **options: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        is_tls = url.scheme == "amqps"
        context = await options["ssl_context_provider"].get_context() if is_tls else None
        return await open_stream(url.host or "", url.port or (5671 if is_tls else 5672), ssl=context)


async def _library() -> ModuleType:
    """Imports the library on first use, in a thread so that the event loop is not blocked."""
    try:
        return await asyncio.to_thread(import_module, "aiormq")
    except ModuleNotFoundError as error:
        raise InputError(
            "ExtraMissing", f"the aiormq library is not installed; run: {install_command('amqp')}"
        ) from error


async def _deal(channel: AbstractChannel, message: DeliveredMessage, job: InputJob[AmqpConfig], desk: Desk) -> None:
    tag = message.delivery_tag
    assert tag is not None
    try:
        found = read_message(message.body, job.config.queue, namespace=job.namespace)
        if isinstance(found, Withdrawal):
            await desk.withdraw(found.kind, found.name)
        else:
            await desk.declare(found)
    except RefusedError as error:
        await channel.basic_reject(tag, requeue=False)
        identity = message.header.properties.message_id
        desk.rejected(f"{job.config.queue}: message {identity}" if identity else job.config.queue, str(error))
    else:
        await channel.basic_ack(tag)
        desk.took()


async def _address(job: InputJob[AmqpConfig]) -> str:
    config = job.config
    parts = urlsplit(config.url)
    if parts.scheme not in ("amqp", "amqps") or not parts.hostname or parts.query:
        raise InputError("InvalidConfig", "the URL must have the form amqps://host/vhost")
    if parts.username or parts.password:
        raise InputError(
            "InvalidConfig", "the URL must not contain credentials; set username, and password from a secret"
        )
    password = "guest" if config.password is None else await job.secrets.reveal(config.password)
    who = f"{quote(config.username, safe='')}:{quote(password, safe='')}"
    return f"{parts.scheme}://{who}@{parts.netloc}{parts.path or '/'}?heartbeat={config.heartbeat_seconds}"


def _text_of(error: BaseException) -> str:
    return " ".join(str(each) for each in error.args if each is not None)[:300]
