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
    __slots__ = ("_count", "_name", "_prefix", "header")

    def __init__(self, header: str) -> None:
        self.header = header.encode("latin-1")
        self._name = header.lower()
        self._prefix = str(uuid4())[:-_COUNTED_DIGITS]
        self._count = count(1)

    def id_of(self, headers: Mapping[str, str]) -> str:
        """The id that the client chose, if it is a short word; otherwise a new one."""
        chosen = headers.get(self._name)
        if chosen is not None and _VALID.fullmatch(chosen):
            return chosen
        return f"{self._prefix}{next(self._count):012x}"
