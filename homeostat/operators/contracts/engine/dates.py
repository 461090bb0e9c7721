"""Calendar dates of contracts: only `YYYY-MM-DD` counts. Pure."""

from __future__ import annotations

import re
from datetime import date

_is_date = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII).fullmatch


def parse_date(text: str) -> date | None:
    """Return the date, or None for another spelling and for a day that does not exist."""
    if not _is_date(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
