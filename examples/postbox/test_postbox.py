from collections.abc import AsyncIterator
from pathlib import Path

import postbox
import pytest
import pytest_asyncio

from homeostat.sdk import READY, RECONCILING, Client, JsonObject
from homeostat.testing import check_status, condition_of, eventually, open_test_plane

pytestmark = pytest.mark.asyncio
SUMMER = postbox.POSTCARD.path("default", "summer")


class Box:
    def __init__(self, path: Path) -> None:
        self.path = path

    def set_up(self) -> None:
        self.path.mkdir()

    def cards(self) -> dict[str, str]:
        return {card.name: card.read_text() for card in self.path.iterdir()}


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    monkeypatch.setenv("POSTBOX", str(tmp_path / "box"))
    return Box(tmp_path / "box")


@pytest_asyncio.fixture
async def client(tmp_path: Path, box: Box) -> AsyncIterator[Client]:  # noqa: ARG001
    async with open_test_plane(tmp_path / "data", postbox) as plane:
        card = postbox.POSTCARD.new("summer", spec={"text": "wish you were here"})
        await plane.client.create(postbox.POSTCARD.path("default"), card)
        yield plane.client


async def _is(client: Client, name: str, status: str) -> JsonObject:
    obj = await eventually(lambda: client.get(SUMMER), lambda obj: condition_of(obj, name).get("status") == status)
    check_status(obj)
    return obj


async def test_a_card_waits_for_its_box_and_is_posted_once(client: Client, box: Box) -> None:
    waiting = await _is(client, RECONCILING, "True")
    assert condition_of(waiting, RECONCILING)["reason"] == "NoPostbox"
    box.set_up()
    posted = await _is(client, READY, "True")
    assert box.cards() == {posted["status"]["number"]: "wish you were here"}


async def test_a_deleted_card_is_taken_back_before_it_goes(client: Client, box: Box) -> None:
    box.set_up()
    await _is(client, READY, "True")
    await client.delete(SUMMER)
    await eventually(lambda: client.list(postbox.POSTCARD.path("default")), lambda found: found[0] == [])
    assert box.cards() == {}
