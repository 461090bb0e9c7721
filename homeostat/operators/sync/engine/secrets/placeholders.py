"""Placeholders of secrets in payloads: `{{secret .}}`, `{{secret name}}`, and those of the payload's own form. Pure.

Only a whole text is a placeholder; text around one makes it a literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.format import BINARY, Descriptor
from homeostat.operators.sync.engine.payload.value import MAX_DEPTH
from homeostat.operators.sync.engine.secrets.keys import attribute_key

OWN: Final = "{{secret .}}"
_secret = re.compile(r'\{\{\s*secret\s+(?:"((?:[^"\\]|\\.)*)"|([^\s"}]+))\s*\}\}').fullmatch
_form = re.compile(r"\{\{\s*(payload_type|payload_media_type|payload_extension)\s+(\S+?)\s*\}\}").fullmatch
WHOLE_PREFIX: Final = "declarest:whole-resource:v1:base64:"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Empty for `.`: the attribute's own pointer."""

    name: str = ""

    @property
    def text(self) -> str:
        return f'{{{{secret "{self.name}"}}}}' if self.name else OWN

    def key(self, path: str, at: str) -> str:
        return attribute_key(path, self.name or at)


def parse_placeholder(value: Json) -> Placeholder | None:
    """None for a literal."""
    found = _secret(value) if isinstance(value, str) and value.startswith("{{") else None
    if found is None:
        return None
    name = found[1] if found[1] is not None else found[2]
    if name == "." and found[1] is None:
        return Placeholder()
    if name.startswith("/") or not name.strip():
        raise ValidationError(f'secret "{name}" starts with a slash or is blank; expected a name or "."')
    return Placeholder(name)


def mapped(value: Json, change: Callable[[str, str], Json]) -> Json:
    """A copy with every text replaced by `change(pointer, text)`."""
    return _mapped(value, (), change)


def _mapped(value: Json, tokens: tuple[str, ...], change: Callable[[str, str], Json]) -> Json:
    if len(tokens) > MAX_DEPTH:
        raise ValidationError(f"the payload is nested more than {MAX_DEPTH} levels deep")
    match value:
        case str():
            return change(pointer.join(*tokens), value)
        case dict():
            return {key: _mapped(item, (*tokens, key), change) for key, item in value.items()}
        case list():
            return [_mapped(item, (*tokens, str(place)), change) for place, item in enumerate(value)]
        case _:
            return value


def normalized(value: Json) -> Json:
    """Placeholders in their canonical text."""

    def change(at: str, text: str) -> str:
        found = parse_placeholder(text)
        if found is None:
            return text
        if not at:
            raise ValidationError("a placeholder alone has no attribute that it could stand for")
        return found.text

    return mapped(value, change)


def needed(value: Json) -> dict[str, Placeholder]:
    """The placeholders by their pointers."""
    found = dict[str, Placeholder]()
    for tokens, each in pointer.leaves(value):
        if isinstance(each, str) and (placeholder := parse_placeholder(each)) is not None:
            found[pointer.join(*tokens)] = placeholder
    return found


def resolved(value: Json, path: str, read: Callable[[str], str]) -> Json:
    """With the secrets in place of their placeholders; `read` has them by key."""

    def change(at: str, text: str) -> str:
        found = parse_placeholder(text)
        return text if found is None else read(found.key(path, at))

    return mapped(value, change)


def with_form(value: Json, form: Descriptor | None) -> Json:
    """With type, media type and extension in place of their placeholders."""
    described = form or BINARY

    def change(_: str, text: str) -> str:
        found = _form(text) if text.startswith("{{") else None
        if found is None:
            return text
        if found[2] != ".":
            raise ValidationError(f'{found[1]} takes ".", not "{found[2]}"')
        names = {"payload_type": described.type, "payload_media_type": described.media}
        return names.get(found[1], described.extension)

    return mapped(value, change)


def hidden(value: Json, pointers: tuple[str, ...], *, is_secret: bool = False) -> Json:
    """With placeholders at these places, as a file holds them; one alone if the whole value `is_secret`."""
    if is_secret and value is not None:
        return OWN
    if not isinstance(value, dict | list):
        return value
    for each in pointers:
        found = pointer.get(value, each)
        if found not in (pointer.MISSING, None) and parse_placeholder(found) is None:
            value = pointer.put(value, each, OWN)
    return value
