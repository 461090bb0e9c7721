from collections.abc import AsyncIterator
from pathlib import Path

import greeter
import pytest
import pytest_asyncio

from homeostat.sdk import CONFIG_MAP, READY, STALLED, Client, JsonObject
from homeostat.testing import check_status, condition_of, eventually, open_test_plane

pytestmark = pytest.mark.asyncio
MORNING = greeter.GREETING.path("default", "morning")
NOTE = CONFIG_MAP.path("default", "morning")


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with open_test_plane(tmp_path, greeter, has_housekeeping=True) as plane:
        yield plane.client


async def _greet(client: Client, text: str) -> None:
    await client.create(greeter.GREETING.path("default"), greeter.GREETING.new("morning", spec={"text": text}))


async def _says(client: Client, text: str) -> JsonObject:
    return await eventually(lambda: client.get(NOTE), lambda note: note["data"]["text"] == text)


async def _is(client: Client, name: str, status: str) -> JsonObject:
    obj = await eventually(lambda: client.get(MORNING), lambda obj: condition_of(obj, name).get("status") == status)
    check_status(obj)
    return condition_of(obj, name)


async def test_a_greeting_is_written_and_then_ready(client: Client) -> None:
    await _greet(client, "hello")
    await _says(client, "hello")
    assert (await _is(client, READY, "True"))["reason"] == "Written"


async def test_a_changed_text_is_written_again(client: Client) -> None:
    await _greet(client, "hello")
    await _says(client, "hello")
    await client.merge(MORNING, {"spec": {"text": "good morning"}})
    await _says(client, "good morning")


@pytest.mark.parametrize("tamper", ["edit", "delete"])
async def test_drift_is_put_right(client: Client, tamper: str) -> None:
    await _greet(client, "hello")
    await _says(client, "hello")
    await (client.merge(NOTE, {"data": {"text": "buy now"}}) if tamper == "edit" else client.delete(NOTE))
    await _says(client, "hello")


async def test_what_is_not_ours_is_left_alone(client: Client) -> None:
    await client.create(CONFIG_MAP.path("default"), CONFIG_MAP.new("morning", data={"text": "mine"}))
    await _greet(client, "hello")
    assert (await _is(client, STALLED, "True"))["reason"] == "NameTaken"
    await _says(client, "mine")
    await client.delete(NOTE)
    await _says(client, "hello")
    await _is(client, READY, "True")


async def test_the_note_goes_with_its_greeting(client: Client) -> None:
    await _greet(client, "hello")
    await _says(client, "hello")
    await client.delete(MORNING)
    await eventually(lambda: client.list(CONFIG_MAP.path("default")), lambda found: "morning" not in str(found))
