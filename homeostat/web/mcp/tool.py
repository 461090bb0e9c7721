"""A tool that a language model may call, and what a call returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from itertools import islice
from typing import Any, Final

import jsonschema_rs
import msgspec

from homeostat.objects.json import Json, JsonObject, encode

MAX_RESULT_BYTES: Final = 1 << 20
"""Text of one result; a longer one is cut, and says so. Data that are longer are returned as text alone."""
_LARGEST_INDENTED: Final = 64 << 10
"""Bytes of data whose text is indented. Indented, a megabyte of deeply nested data would be 200."""
_MOST_PROBLEMS: Final = 10
_MOST_DESCRIBED: Final = 1_000
"""Values of arguments whose problems are described. The library describes all of them at once, each with the
value, and holds the interpreter lock meanwhile: half a minute for a message of 3 MB.
"""
_LONGEST_DESCRIBED: Final = 16_384
"""Characters of their keys and texts."""


class ToolError(Exception):
    """The call failed in a way that the caller can correct; the text says how."""


class Tool(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    name: str
    title: str
    description: str
    input_schema: JsonObject
    is_reading: bool = True
    """It changes nothing. A client may then call it without asking a person."""
    reaches_out: bool = False
    """It talks to systems beyond this machine's files."""
    call: Callable[[JsonObject], Awaitable[Json]]
    """Returns text, or JSON. Raises `ToolError`."""

    @property
    def listed(self) -> JsonObject:
        hints = {"title": self.title, "readOnlyHint": self.is_reading, "openWorldHint": self.reaches_out}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": hints if self.is_reading else {**hints, "destructiveHint": True},
        }

    @cached_property
    def _validator(self) -> Any:
        return jsonschema_rs.validator_for(self.input_schema)

    def _problems(self, arguments: JsonObject) -> list[str]:
        if self._validator.is_valid(arguments):
            return []
        if not _is_short(arguments):
            return ["they are too long to say where; compare them with inputSchema, or send fewer"]
        return [_problem(each) for each in islice(self._validator.iter_errors(arguments), _MOST_PROBLEMS)]

    async def run(self, arguments: JsonObject) -> JsonObject:
        """Return a result: content for the model, also if the call failed."""
        if problems := self._problems(arguments):
            return _failed(f"the arguments are invalid: {'; '.join(problems)}")
        try:
            found = await self.call(arguments)
        except ToolError as error:
            return _failed(str(error))
        if isinstance(found, str):
            return {"content": [_text(found)], "isError": False}
        data = encode(found)
        is_structured = isinstance(found, dict) and len(data) <= MAX_RESULT_BYTES
        structured = {"structuredContent": found} if is_structured else {}
        return {"content": [_readable(data)], **structured, "isError": False}


def _is_short(arguments: JsonObject) -> bool:
    waiting: list[Json] = [arguments]
    values = characters = 0
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            characters += len(value)
        elif isinstance(value, dict | list):
            values += len(value)
            if values > _MOST_DESCRIBED:
                return False
            waiting.extend(value)
            waiting.extend(value.values() if isinstance(value, dict) else ())
        if characters > _LONGEST_DESCRIBED:
            return False
    return True


def _problem(error: Any) -> str:
    place = "/".join(map(str, error.instance_path))
    return f"at '/{place}': {error.message}" if place else str(error.message)


def _readable(data: bytes) -> JsonObject:
    if len(data) <= _LARGEST_INDENTED:
        data = msgspec.json.format(data, indent=2)
    # The last character may be cut in two.
    return _text(data[:MAX_RESULT_BYTES].decode(errors="ignore"), is_cut=len(data) > MAX_RESULT_BYTES)


def _failed(message: str) -> JsonObject:
    return {"content": [_text(message)], "isError": True}


def _text(text: str, *, is_cut: bool = False) -> JsonObject:
    if is_cut or len(text) > MAX_RESULT_BYTES:
        text = text[:MAX_RESULT_BYTES]
        text = f"{text}\n[cut after {len(text)} characters]"
    return {"type": "text", "text": text}
