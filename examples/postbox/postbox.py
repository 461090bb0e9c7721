"""Posts a card for every Postcard: a file in a postbox, which stands for anything outside Kubernetes."""

import os
from asyncio import to_thread
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from uuid import uuid4

from msgspec import Meta, Struct

from homeostat import sdk


class Spec(Struct, frozen=True):
    text: Annotated[
        str,
        Meta(min_length=1, max_length=80, description="What to write."),
        sdk.rule("self == oldSelf", "what is posted cannot be changed"),
    ]


class PostcardStatus(sdk.Status, frozen=True):
    number: Annotated[str, Meta(pattern="^[0-9a-f]*$")] = ""


class Postcard(sdk.Declared, frozen=True):
    spec: Spec


POSTCARD = sdk.Kind("example.dev", "v1", "postcards", "Postcard", is_namespaced=True)
COLUMNS = (sdk.Column("Number", ".status.number"), sdk.READY_COLUMN, sdk.AGE_COLUMN)
KINDS = (sdk.CustomKind(POSTCARD, spec=Spec, status=PostcardStatus, columns=COLUMNS),)
RULES = sdk.control_rules(POSTCARD, has_finalizer=True)
POSTED = sdk.Condition(sdk.READY, "True", "Posted")
UNPOSTED = sdk.Condition(sdk.READY, "False", "NotPosted", "the card is not in the box")


class Post(Struct, frozen=True):
    text: str


class TakeBack(Struct, frozen=True):
    number: str


class Postbox:
    def __init__(self, box: Path) -> None:
        self.box = box

    async def observe(self, obj: Postcard) -> str:
        """The number of the card that is in the box; empty where none is."""
        if not await to_thread(self.box.is_dir):
            raise sdk.Wait("NoPostbox", timedelta(seconds=1), message=f'there is no directory "{self.box}" yet')
        number = obj.read_status(PostcardStatus).number
        is_there = number != "" and await to_thread((self.box / number).exists)
        return number if is_there else ""

    def decide(self, obj: Postcard, world: str) -> sdk.Decision[Post | TakeBack]:
        if obj.is_terminating:
            return sdk.Decision((TakeBack(world),) if world else ())
        if world:
            return sdk.Decision(conditions=(POSTED,), requeue_after=timedelta(seconds=30))
        return sdk.Decision((Post(obj.spec.text),), (UNPOSTED,))

    async def act(self, obj: Postcard, action: Post | TakeBack) -> sdk.Receipt | None:
        match action:
            case Post(text):
                number = uuid4().hex
                await to_thread((self.box / number).write_text, text)
                return sdk.Receipt({"number": number})
            case TakeBack(number):
                await to_thread((self.box / number).unlink)
                return None


def register(setup: sdk.Setup) -> None:
    box = Path(os.environ.get("POSTBOX", "postbox"))
    setup.control(POSTCARD, Postcard, Postbox(box), sdk.Options(finalizer="example.dev/postbox"))
