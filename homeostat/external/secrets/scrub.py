"""Removes secrets from texts before they reach a status, an Event, an error or a log.

A secret is recognised as a whole, line by line, and in the encodings that programs print: base64 (also within a longer
text such as `user:password`), URL quoting and JSON. Values shorter than four characters are not recognised. Credentials
in URLs are removed even if they are not known.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Final
from urllib.parse import quote, quote_plus

from homeostat.objects.json import Json

HIDDEN: Final = "***"
_SHORTEST: Final = 4
_web_userinfo = re.compile(r"(\bhttps?://)[^\s/?#\"'<>]+@", re.IGNORECASE)
# The length of a scheme is bounded: a text such as a.a.a.a has a possible start at every second character.
_password = re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://[^\s/?#\"'<>:@]*:)[^\s/?#\"'<>]+@", re.IGNORECASE)


def scrub_urls(text: str) -> str:
    """`https://user:password@host/` becomes `https://***@host/`; `ssh://git@host/` holds no secret and stays."""
    if "://" not in text:
        return text
    return _password.sub(rf"\1{HIDDEN}@", _web_userinfo.sub(rf"\1{HIDDEN}@", text))


class Scrubber:
    def __init__(self) -> None:
        self._known: set[str] = set()

    def hide(self, value: str) -> None:
        for each in (value, *(line for line in value.splitlines() if len(line) >= 2 * _SHORTEST)):
            if len(each) >= _SHORTEST:
                self._known |= {each, quote(each, safe=""), quote_plus(each), *_in_json(each), *_in_base64(each)}

    def scrub(self, text: str) -> str:
        for each in sorted(self._known, key=len, reverse=True):
            text = text.replace(each, HIDDEN)
        return scrub_urls(text)

    def scrub_json(self, value: Json) -> Json:
        match value:
            case str():
                return self.scrub(value)
            case dict():
                return {self.scrub(key): self.scrub_json(each) for key, each in value.items()}
            case list() | tuple():
                return [self.scrub_json(each) for each in value]
            case _:
                return value


def _in_json(text: str) -> set[str]:
    return {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}


def _in_base64(text: str) -> set[str]:
    """In both alphabets, with and without padding, and the part that stays the same within any longer text."""
    found, data = set[str](), text.encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data).decode()
        found |= {whole, whole.rstrip("=")}
        for before in range(3):
            # A character holds six bits: those that share one with a neighbour depend on it.
            first, last = (before * 8 + 5) // 6, (before + len(data)) * 8 // 6
            inner = encode(bytes(before) + data + bytes(3)).decode()[first:last]
            if len(inner) >= 2 * _SHORTEST:
                found.add(inner)
    return found
