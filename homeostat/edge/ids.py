"""Ids of requests: the response carries one in a header, and logs name it.

A client may choose the id of its request. Otherwise it is a UUID of which all but the last part is the same for the
life of the server, and the last part counts: unique, and cheap enough for every request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from uuid import uuid4

_VALID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_COUNTED_DIGITS = 12


class RequestIds:
    __slots__ = ("_count", "_header", "_name", "_template")

    def __init__(self, header: str) -> None:
        self._header = header.encode("latin-1")
        self._name = header.lower()
        self._template = b"%b: %b%%012x\r\n" % (self._header, str(uuid4())[:-_COUNTED_DIGITS].encode())
        self._count = count(1)

    def line_of(self, headers: Mapping[str, str]) -> bytes:
        """The header line of the response: with the id that the client chose if it is a short word, or with a new one.

        Every response needs the line, and few requests their id as a text: see `id_in`.
        """
        chosen = headers.get(self._name)
        if chosen is not None and _VALID.fullmatch(chosen):
            return b"%b: %b\r\n" % (self._header, chosen.encode())
        return self._template % next(self._count)


def id_in(line: bytes) -> str:
    """The id in a header line; empty for an empty line."""
    return line.partition(b": ")[2].rstrip().decode()
