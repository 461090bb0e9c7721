"""The lines of findings: the files in which something was found are read once more, for the lines of its fields.

Standard input is gone by then, and a file that is large or cannot be read again keeps the lines of its documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from homeostat.cli.policy.files.sources import STDIN
from homeostat.objects.report.report import Entry
from homeostat.operators.policy.engine.location import locate, read_places

_MOST_BYTES: Final = 8 << 20


def located(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    found = list(entries)
    by_source: dict[str, list[int]] = {}
    for at, entry in enumerate(entries):
        by_source.setdefault(entry.source, []).append(at)
    for source, places in by_source.items():
        documents = read_places(_read(source)) if source not in ("", STDIN) else {}
        for at in places:
            found[at] = locate(found[at], documents)
    return tuple(found)


def _read(source: str) -> bytes:
    try:
        with Path(source).open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError:
        return b""
    return data if len(data) <= _MOST_BYTES else b""
