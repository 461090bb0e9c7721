"""The completed indexes of an Indexed Job, `0,2-4`, as ranges: a Job may have two thousand million of them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

Span = tuple[int, int]
"""The first and the last index."""


def parse_indexes(text: str, completions: int) -> list[Span]:
    """In order and apart from each other; those that the Job does not have are left out."""
    found: list[Span] = []
    for part in filter(None, text.split(",")):
        first, dash, last = part.partition("-")
        if _is_index(first) and (not dash or _is_index(last)):
            found.append((int(first), min(int(last or first), completions - 1)))
    return merged(found)


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10


def merged(spans: Iterable[Span]) -> list[Span]:
    found: list[Span] = []
    for first, last in sorted(spans):
        if last < first:
            continue
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def format_indexes(spans: Iterable[Span]) -> str:
    return ",".join(str(a) if a == b else f"{a}-{b}" if b > a + 1 else f"{a},{b}" for a, b in spans)


def count(spans: Iterable[Span]) -> int:
    return sum(last - first + 1 for first, last in spans)


def free_indexes(done: Iterable[Span], taken: Collection[int | None], completions: int) -> Iterator[int]:
    """Those that are neither done nor taken, lowest first."""
    start = 0
    for first, last in (*done, (completions, completions)):
        yield from (each for each in range(start, first) if each not in taken)
        start = last + 1


def overlap(some: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """The indexes of both; each list is in order and apart."""
    found: list[Span] = []
    at, other = 0, 0
    while at < len(some) and other < len(others):
        (first, last), (start, end) = some[at], others[other]
        if max(first, start) <= min(last, end):
            found.append((max(first, start), min(last, end)))
        if last < end:
            at += 1
        else:
            other += 1
    return found
