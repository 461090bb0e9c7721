"""Numbers that users write as text: an integer, or a share as `25%` of a total. Pure."""

from __future__ import annotations

import re
from typing import Final

from homeostat.objects.json import Json

_INTEGER: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_LARGEST: Final = 2**63 - 1


def integer_of(text: str) -> int | None:
    """None for all but an integer of 64 bits in decimal digits, with a minus or none."""
    found = int(text) if _INTEGER.fullmatch(text) else None
    return found if found is not None and abs(found) <= _LARGEST else None


def scaled(value: Json, total: int, *, rounds_up: bool) -> int:
    """0 for what is no such number."""
    if isinstance(value, int):
        return int(value)
    if not isinstance(value, str):
        return 0
    number = max(integer_of(value.removesuffix("%")) or 0, 0)
    if not value.endswith("%"):
        return number
    return -(-number * total // 100) if rounds_up else number * total // 100
