"""Removes secrets from texts before they reach a status, an Event, an error or a log.

A secret is recognised as a whole, line by line, and in the encodings that programs print: base64 (also within a longer
text such as `user:password`), URL quoting and JSON. Values shorter than four characters are not recognised, and of the
parts of a secret document those shorter than eight: they are often common words. Credentials in URLs are removed even
if they are not known.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from threading import Lock
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus

from homeostat.objects.json import Json

HIDDEN: Final = "***"
_SHORTEST: Final = 4
_SHORTEST_PART: Final = 8
MOST_PARTS: Final = 500
"""Lines of one secret, and parts of all secret documents, that a scrubber knows: it searches every text for each."""
_web_userinfo = re.compile(r"(\bhttps?://)[^\s/?#\"'<>]+@", re.IGNORECASE)
# The length of a scheme is bounded: a text such as a.a.a.a has a possible start at every second character.
_password = re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://[^\s/?#\"'<>:@]*:)[^\s/?#\"'<>]+@", re.IGNORECASE)


def scrub_urls(text: str) -> str:
    """`https://user:password@host/` becomes `https://***@host/`; `ssh://git@host/` holds no secret and stays."""
    if "://" not in text:
        return text
    return _password.sub(rf"\1{HIDDEN}@", _web_userinfo.sub(rf"\1{HIDDEN}@", text))


class _Sorted(NamedTuple):
    version: int
    values: list[str]


class Scrubber:
    """May be used by several threads: what was hidden before a call of `scrub` is not in its result."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: set[str] = set()
        self._parts: dict[str, set[str]] = {}
        self._version = 0
        self._longest_first = _Sorted(0, [])

    def hide(self, value: str) -> None:
        lines = (each for each in value.splitlines()[:MOST_PARTS] if len(each) >= _SHORTEST_PART)
        printed = set[str]().union(*(_printed(each) for each in (value, *lines) if len(each) >= _SHORTEST))
        with self._lock:
            if not printed <= self._known:
                self._known |= printed
                self._version += 1

    def hide_parts(self, values: Iterable[str]) -> None:
        """The values within a secret document. Of more than `MOST_PARTS`, the newest and then the longest count."""
        parts = sorted({each for each in values if len(each) >= _SHORTEST_PART}, key=len)
        with self._lock:
            for each in parts[-MOST_PARTS:]:
                if (printed := self._parts.pop(each, None)) is None:
                    printed = _printed(each)
                    self._version += 1
                self._parts[each] = printed
            for each in list(self._parts)[:-MOST_PARTS]:
                del self._parts[each]

    def scrub(self, text: str) -> str:
        for each in self._sorted():
            text = text.replace(each, HIDDEN)
        return scrub_urls(text)

    def _sorted(self) -> list[str]:
        found = self._longest_first
        if found.version != self._version:
            with self._lock:
                version, values = self._version, self._known.union(*self._parts.values())
            # Sorted without the lock. If a value was added meanwhile, the version differs, and the next call sorts.
            found = self._longest_first = _Sorted(version, sorted(values, key=len, reverse=True))
        return found.values

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


def _printed(text: str) -> set[str]:
    return {text, quote(text, safe=""), quote_plus(text), *_in_json(text), *_in_base64(text)}


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
