"""A custom kind that uses most of what types can say, for the tests of its definition and of its objects."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, Column, CustomKind, Scale, Status
from homeostat.objects.crd.field_meta import NULLABLE, keyed, rule
from homeostat.objects.kind import Kind
from homeostat.objects.schema.schema import Rule


class Mood(Enum):
    GLAD = "glad"
    CALM = "calm"


class Voice(msgspec.Struct, frozen=True, rename="camel"):
    """How it sounds.

    Two paragraphs, the second of which is
    broken into lines.
    """

    __rules__: ClassVar[tuple[Rule, ...]] = (Rule("self.pitch > 9 || self.loudness > 1.0", "a low voice must be loud"),)

    pitch: Annotated[int, Meta(gt=0, lt=100)] = 20
    loudness: Annotated[float, Meta(ge=0, multiple_of=0.5)] = 0.5
    mood: Mood = Mood.CALM


class Guest(msgspec.Struct, frozen=True, rename="camel"):
    name: Annotated[str, Meta(max_length=63, pattern="^[a-z]+$")]
    port: Annotated[int, Meta(ge=1)] | Annotated[str, Meta(max_length=15)] = "http"
    since: datetime | None = None


class GreetingSpec(msgspec.Struct, frozen=True, rename="camel"):
    text: Annotated[str, Meta(min_length=1, max_length=64, description="What to say.", examples=["Hello"])]
    times: Annotated[int, Meta(ge=1, le=10)] = 1
    is_loud: bool = False
    language: Literal["en", "de", "fr"] = "en"
    voice: Voice = Voice()
    second_voice: Voice | None = None
    guests: Annotated[tuple[Guest, ...], keyed("name"), Meta(max_length=20)] = ()
    labels: dict[str, str] = {}
    tags: frozenset[str] = frozenset({"b", "a"})
    room: Annotated[str, Meta(max_length=20), rule("self == oldSelf", "cannot be changed")] = "hall"
    signature: Annotated[str | None, NULLABLE] = "host"
    extra: dict[str, Any] = {}
    payload: msgspec.Raw = msgspec.Raw(b"")


class GreetingStatus(Status, frozen=True):
    """What was said."""

    said: Annotated[int, Meta(ge=0)] = 0


GREETING = CustomKind(
    Kind(
        "example.dev",
        "v1",
        "greetings",
        "Greeting",
        is_namespaced=True,
        singular="greeting",
        short_names=("gr",),
        categories=("all",),
    ),
    spec=GreetingSpec,
    status=GreetingStatus,
    columns=(
        Column("Text", ".spec.text"),
        Column("Times", ".spec.times", "integer", priority=1),
        READY_COLUMN,
        AGE_COLUMN,
    ),
    rules=(Rule("self.spec.times < 5 || self.spec.text != 'x'", "x is not said more than four times"),),
    description="Something to say.",
    scale=Scale(".spec.times", ".status.said"),
    selectable=(".spec.language",),
)
