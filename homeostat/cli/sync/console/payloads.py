"""The payload of a command: a file, standard input, inline JSON or YAML, or assignments.

-f FILE    -f -    -f '{"a": 1}'    -f /a=b,/c/d=e    -f a=b,c.d=e
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Final

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.codec import Payload, decode, guess
from homeostat.operators.sync.engine.payload.format import Descriptor, by_extension, by_word
from homeostat.operators.sync.engine.tree.layout import extension

LARGEST_INPUT: Final = 4 << 20
_assignment = re.compile(r"(/?[\w.~/\[\]-]+)=(.*)", re.DOTALL).fullmatch


async def read_input(text: str, content_type: str = "", *, assigns: bool = True) -> Payload:
    form = by_word(content_type) if content_type else None
    if text == "-":
        return _decoded(await asyncio.to_thread(sys.stdin.buffer.read, LARGEST_INPUT + 1), form)
    if (data := await asyncio.to_thread(_file, text)) is not None:
        return _decoded(data, form or by_extension(extension(text)))
    if text.lstrip()[:1] in ("{", "["):
        return _inline(_decoded(text.encode(), form))
    if assigns and all(_assignment(each) for each in text.split(",")):
        return Payload(assigned({}, text))
    if re.fullmatch(r"[\w./~-]+", text):
        raise ValidationError(f'there is no file "{text}"')
    return _decoded(text.encode(), form)


def _inline(payload: Payload) -> Payload:
    if isinstance(payload.value, bytes):
        raise ValidationError("the payload on the command line is neither JSON nor YAML; check its quotes and brackets")
    return payload


def _file(text: str) -> bytes | None:
    try:
        path = Path(text)
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(LARGEST_INPUT + 1)
    except (OSError, ValueError):
        return None


def _decoded(data: bytes, form: Descriptor | None) -> Payload:
    if len(data) > LARGEST_INPUT:
        raise ValidationError(f"the input is larger than {LARGEST_INPUT} bytes")
    return guess(data) if form is None else Payload(decode(data, form), form)


def assigned(value: Json, text: str) -> Json:
    """The value with the assignments of a text; what is assigned is text."""
    for each in text.split(","):
        found = _assignment(each.strip())
        if found is None:
            raise ValidationError(f'"{each}" is not an assignment; expected /pointer=value or name=value')
        name = found[1]
        at = name if name.startswith("/") else pointer.join(*name.split("."))
        value = pointer.put(value, at, found[2])
    return value


async def structured_input(text: str) -> Json:
    """An object from standard input or a file."""
    payload = await read_input(text)
    if isinstance(payload.value, bytes):
        raise ValidationError("the input is neither JSON nor YAML")
    return payload.value
