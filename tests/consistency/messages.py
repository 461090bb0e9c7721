"""What clients and replicas say to each other: one JSON value a line."""

from __future__ import annotations

import msgspec


class Read(msgspec.Struct, tag_field="says", tag="read"):
    name: str


class Write(msgspec.Struct, tag_field="says", tag="write"):
    """Create (`expect` 0), replace or delete."""

    name: str
    expect: int
    text: str
    is_deletion: bool = False


class Watch(msgspec.Struct, tag_field="says", tag="watch"):
    since: int


class Found(msgspec.Struct, tag_field="says", tag="found"):
    """What is there; revision 0 for nothing."""

    revision: int
    text: str = ""


class Stored(msgspec.Struct, tag_field="says", tag="stored"):
    revision: int


class Refused(msgspec.Struct, tag_field="says", tag="refused"):
    """The revision was not the expected one but this; 0 for nothing."""

    revision: int


class Failed(msgspec.Struct, tag_field="says", tag="failed"):
    reason: str
    is_uncertain: bool = False


class Delivered(msgspec.Struct, tag_field="says", tag="delivered", frozen=True):
    """One event of a watch."""

    revision: int
    type: str
    name: str
    text: str


Request = Read | Write | Watch
Answer = Found | Stored | Refused | Failed | Delivered

_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_answers: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def request_of(line: bytes) -> Request:
    return _requests.decode(line)


def answer_of(line: bytes) -> Answer:
    return _answers.decode(line)


def line_of(message: Request | Answer) -> bytes:
    return msgspec.json.encode(message) + b"\n"
