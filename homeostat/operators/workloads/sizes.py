"""Numbers that may be a share: `2`, or `25%` of a total. Pure."""

from __future__ import annotations

from math import ceil, floor

from homeostat.objects.json import Json


def scaled(value: Json, total: int, *, rounds_up: bool) -> int:
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        share = int(value[:-1]) * total / 100
        return ceil(share) if rounds_up else floor(share)
    return int(value) if isinstance(value, int) or str(value).isdigit() else 0
