"""Finds the lines of findings: files with findings are read a second time for the lines of their fields.

Findings in standard input, in large files and in files that cannot be read again keep the lines of their documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from homeostat.cli.files.sources import STDIN
from homeostat.external.files import read_limited
from homeostat.objects.report.location import read_documents_by_line
from homeostat.objects.report.report import Entry
from homeostat.objects.yaml.nodes import Node

_MOST_BYTES: Final = 8 << 20

WithLine = Callable[[Entry, dict[int, Node]], Entry]
"""Finds the line of one finding in the documents of its file, by the lines on which they begin."""


def with_lines(entries: Sequence[Entry], with_line: WithLine) -> tuple[Entry, ...]:
    found = list(entries)
    by_source: dict[str, list[int]] = {}
    for at, entry in enumerate(entries):
        by_source.setdefault(entry.source, []).append(at)
    for source, places in by_source.items():
        documents = read_documents_by_line(_read(source)) if source not in ("", STDIN) else {}
        for at in places:
            found[at] = with_line(found[at], documents)
    return tuple(found)


def _read(source: str) -> bytes:
    try:
        return read_limited(Path(source), _MOST_BYTES)
    except OSError:
        return b""
