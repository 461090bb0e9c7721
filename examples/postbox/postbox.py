"""Posts a card for every Postcard: a file in a postbox, which stands for anything outside Kubernetes."""

import os
from asyncio import to_thread
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from uuid import uuid4

from msgspec import Meta, Struct

from homeostat.objects.conditions import READY, Condition
from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, Column, CustomKind, Status
from homeostat.objects.crd.field_meta import rule
from homeostat.objects.decision import Decision, Receipt, Wait
from homeostat.objects.declared import Declared
from homeostat.objects.kind import Kind
from homeostat.objects.roles import control_rules
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.setup import Setup


class Spec(Struct, frozen=True):
    text: Annotated[
        str,
        Meta(min_length=1, max_length=80, description="What to write."),
        rule("self == oldSelf", "what is posted cannot be changed"),
    ]


class PostcardStatus(Status, frozen=True):
    number: Annotated[str, Meta(pattern="^[0-9a-f]*$")] = ""


class Postcard(Declared, frozen=True):
    spec: Spec


POSTCARD = Kind("example.dev", "v1", "postcards", "Postcard", is_namespaced=True)
COLUMNS = (Column("Number", ".status.number"), READY_COLUMN, AGE_COLUMN)
KINDS = (CustomKind(POSTCARD, spec=Spec, status=PostcardStatus, columns=COLUMNS),)
RULES = control_rules(POSTCARD, has_finalizer=True)
POSTED = Condition(READY, "True", "Posted")
UNPOSTED = Condition(READY, "False", "NotPosted", "the card is not in the box")


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
            raise Wait("NoPostbox", timedelta(seconds=1), message=f'there is no directory "{self.box}" yet')
        number = obj.read_status(PostcardStatus).number
        is_there = number != "" and await to_thread((self.box / number).exists)
        return number if is_there else ""

    def decide(self, obj: Postcard, world: str) -> Decision[Post | TakeBack]:
        if obj.is_terminating:
            return Decision((TakeBack(world),) if world else ())
        if world:
            return Decision(conditions=(POSTED,), requeue_after=timedelta(seconds=30))
        return Decision((Post(obj.spec.text),), (UNPOSTED,))

    async def act(self, obj: Postcard, action: Post | TakeBack) -> Receipt | None:
        match action:
            case Post(text):
                number = uuid4().hex
                await to_thread((self.box / number).write_text, text)
                return Receipt({"number": number})
            case TakeBack(number):
                await to_thread((self.box / number).unlink)
                return None


def register(setup: Setup) -> None:
    box = Path(os.environ.get("POSTBOX", "postbox"))
    setup.control(POSTCARD, Postcard, Postbox(box), Options(finalizer="example.dev/postbox"))
