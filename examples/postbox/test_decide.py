from pathlib import Path

import pytest
from postbox import Post, Postbox, Postcard, Spec, TakeBack

from homeostat.sdk import Metadata


def card(deleted_at: str | None = None) -> Postcard:
    return Postcard(metadata=Metadata("summer", deletion_timestamp=deleted_at), spec=Spec("wish you were here"))


@pytest.mark.parametrize(
    ("obj", "world", "actions"),
    [
        (card(), "", (Post("wish you were here"),)),
        (card(), "17", ()),
        (card("2026-07-01T12:00:00Z"), "17", (TakeBack("17"),)),
        (card("2026-07-01T12:00:00Z"), "", ()),
    ],
    ids=["a new card is posted", "one that is there stays", "a deleted one is taken back", "one that is gone may go"],
)
def test_what_is_decided(obj: Postcard, world: str, actions: tuple[Post | TakeBack, ...]) -> None:
    assert Postbox(Path("box")).decide(obj, world).actions == actions
