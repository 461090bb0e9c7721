"""Messages of a real RabbitMQ become resources: none is lost, and one that comes twice does no harm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiormq
import pytest
from aiormq.abc import AbstractChannel
from pamqp.commands import Basic

from homeostat.objects.json import JsonObject, encode
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status, condition_of
from tests.operators.actions.inputs.input_plane import InputPlane, opened, thing
from tests.operators.actions.inputs.rabbitmq import RabbitMq


class Post:
    """A queue, and the one beside it that its dead letters go to."""

    def __init__(self, broker: RabbitMq, channel: AbstractChannel, queue: str) -> None:
        self.broker, self.channel, self.queue = broker, channel, queue
        self.config: JsonObject = {"url": broker.url, "queue": queue}

    async def send(self, message: JsonObject | bytes, identity: str = "") -> None:
        data = message if isinstance(message, bytes) else encode(message)
        properties = Basic.Properties(delivery_mode=2, message_id=identity or None)
        await self.channel.basic_publish(data, routing_key=self.queue, properties=properties)

    async def waiting(self, suffix: str = "") -> int:
        declared = await self.channel.queue_declare(f"{self.queue}{suffix}", passive=True)
        return declared.message_count or 0


@asynccontextmanager
async def post_at(broker: RabbitMq, queue: str) -> AsyncIterator[Post]:
    connection = await aiormq.connect(broker.url)
    try:
        channel = await connection.channel()
        await channel.queue_declare(f"{queue}-dead", durable=True)
        arguments: Any = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"{queue}-dead"}
        await channel.queue_declare(queue, durable=True, arguments=arguments)
        yield Post(broker, channel, queue)
    finally:
        await connection.close()


@pytest.fixture
async def post(broker: RabbitMq) -> AsyncIterator[Post]:
    async with post_at(broker, f"things-{uuid4().hex[:8]}") as post:
        yield post


def message(event: str, name: str, text: str = "hello") -> JsonObject:
    body: JsonObject = {"event": event, "name": name, "type": "Thing", "version": "v1"}
    return body if event == "deleted" else {**body, "spec": {"text": text}}


async def test_messages_declare_change_and_withdraw(plane: InputPlane, post: Post) -> None:
    await plane.declare_input("queue", "amqp", post.config)
    await plane.reported("queue", reason="Connected")
    await post.send(message("created", "a"))
    await post.send({"event": "updated", "resource": thing("b", "two")})
    await plane.become({"a": "hello", "b": "two"})
    for each in (message("updated", "a", "one"), message("updated", "a", "one"), message("deleted", "b")):
        await post.send(each)
    await plane.become({"a": "one"})
    await post.send(message("deleted", "b"))
    obj = await plane.reported("queue", reason="Connected", taken=6)
    check_status(obj)
    assert await post.waiting() == 0


async def test_what_was_sent_before_and_while_nobody_listened_is_not_lost(
    data: Path, tmp_path: Path, post: Post
) -> None:
    async with opened(data, tmp_path) as (plane, operator):
        async with operator().running():
            await plane.declare_type()
            await plane.become({})
            await post.send(message("created", "a"))
            await plane.declare_input("queue", "amqp", post.config)
            await plane.become({"a": "hello"})
            await plane.reported("queue", reason="Connected", taken=1)
        await post.send(message("updated", "a", "later"))
        await post.send(message("created", "b"))
        async with operator().running():
            await plane.become({"a": "later", "b": "hello"})
            await plane.reported("queue", reason="Connected", taken=3, rejected=0)


@pytest.mark.parametrize("letter", ["bytes", "event", "name", "type", "schema", "foreign"])
async def test_a_message_that_will_never_do_goes_to_the_dead_letters(
    plane: InputPlane, post: Post, letter: str
) -> None:
    poison: dict[str, tuple[JsonObject | bytes, str]] = {
        "bytes": (b"\x00not json", "not valid JSON"),
        "event": ({**message("created", "x"), "event": "moved"}, '"event" is "moved"'),
        "name": (message("created", "Not A Name"), "is not a valid resource name"),
        "type": ({**message("created", "x"), "type": "Unheard"}, 'no resource type has the kind "Unheard"'),
        "schema": ({**message("created", "x"), "spec": {"text": 1}}, "spec.text"),
        "foreign": (message("deleted", "mine"), "was not created by this input"),
    }
    await plane.client.create(plane.path(), thing("mine"))
    await plane.declare_input("queue", "amqp", post.config)
    sent, told = poison[letter]
    await post.send(sent, "letter-7")
    await post.send(message("created", "good"))
    await plane.become({"mine": "hello", "good": "hello"})
    obj = await plane.reported("queue", reason="Connected", taken=1, rejected=1)
    (error,) = obj["status"]["errors"]
    assert error["source"] == f"{post.queue}: message letter-7"
    assert told in error["message"]
    assert await eventually(lambda: post.waiting("-dead")) == 1


async def test_a_message_whose_write_fails_is_not_acknowledged(data: Path, tmp_path: Path, post: Post) -> None:
    async with opened(data, tmp_path) as (plane, operator), operator().running():
        await plane.declare_type()
        await plane.become({})
        await plane.declare_input("queue", "amqp", post.config)
        await plane.reported("queue", reason="Connected")
        plane.faults.add("things")
        await post.send(message("created", "a"))
        await post.send(message("updated", "a", "later"))
        await plane.reported("queue", reason="Unavailable")
        assert await plane.things() == {}
        plane.faults.clear()
        await plane.become({"a": "later"})
        await plane.reported("queue", reason="Connected", taken=2, rejected=0)
        assert await post.waiting("-dead") == 0


async def test_a_message_may_be_quicker_than_the_type_that_it_wants(data: Path, tmp_path: Path, post: Post) -> None:
    await post.send({**message("created", "a"), "type": "Thing"})
    async with opened(data, tmp_path) as (plane, operator):
        await plane.declare_type()
        await plane.declare_input("queue", "amqp", post.config)
        plane.faults.add("customresourcedefinitions")
        async with operator().running():
            await plane.reported("queue", reason="TypeNotReady")
            plane.faults.clear()
            await plane.become({"a": "hello"})
            await plane.reported("queue", reason="Connected", taken=1, rejected=0)


async def test_an_input_that_is_paused_or_gone_leaves_the_queue_alone(plane: InputPlane, post: Post) -> None:
    await plane.declare_input("queue", "amqp", post.config)
    await plane.reported("queue", reason="Connected")
    path = "/apis/homeostat.dev/v1alpha1/namespaces/default/resourceinputs/queue"
    await plane.client.merge(path, {"metadata": {"annotations": {"homeostat.dev/paused": "true"}}})
    await eventually(lambda: _consumers(post), lambda count: count == 0)
    await post.send(message("created", "a"))
    await plane.client.merge(path, {"metadata": {"annotations": {"homeostat.dev/paused": None}}})
    await plane.become({"a": "hello"})
    await plane.client.delete(path)
    await eventually(lambda: plane.is_gone(path))
    await eventually(lambda: _consumers(post), lambda count: count == 0)
    assert await plane.things() == {"a": "hello"}


async def test_a_broker_that_is_away_is_reported_and_found_again(plane: InputPlane, broker: RabbitMq) -> None:
    async with post_at(broker, "lasting") as post:
        await plane.declare_input("queue", "amqp", post.config)
        await plane.reported("queue", reason="Connected")
    await asyncio.to_thread(broker.stop)
    obj = await plane.reported("queue", reason="Disconnected")
    assert condition_of(obj, "Ready")["status"] == "False"
    await asyncio.to_thread(broker.start)
    async with post_at(broker, "lasting") as post:
        await post.send(message("created", "a"))
        await eventually(plane.things, lambda found: found == {"a": "hello"}, within_s=30)
    await plane.reported("queue", reason="Connected", taken=1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"queue": "none"}, "Disconnected"),
        ({"username": "nobody"}, "Disconnected"),
        ({"url": "amqp://guest:guest@127.0.0.1/"}, "InvalidConfig"),
        ({"url": "http://127.0.0.1/"}, "InvalidConfig"),
    ],
    ids=["queue", "username", "password", "scheme"],
)
async def test_what_cannot_be_connected_to_is_reported(
    plane: InputPlane, broker: RabbitMq, change: JsonObject, reason: str
) -> None:
    await plane.declare_input("queue", "amqp", {"url": broker.url, "queue": "q", **change})
    await plane.reported("queue", reason=reason)


async def test_a_broker_at_a_link_local_address_is_not_connected_to(plane: InputPlane) -> None:
    await plane.declare_input("queue", "amqp", {"url": "amqp://169.254.169.254/", "queue": "q"})
    obj = await plane.reported("queue", reason="Disconnected")
    assert "link-local" in condition_of(obj, "Ready")["message"]


async def _consumers(post: Post) -> int:
    declared = await post.channel.queue_declare(post.queue, passive=True)
    return declared.consumer_count or 0
