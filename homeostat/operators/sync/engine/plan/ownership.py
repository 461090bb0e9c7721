"""Which objects of a server a sync may delete. Pure.

An object is ours if we created it or adopted it. Only what is ours, is no longer declared and is not
protected may be deleted, and never more at once than the limit allows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths.glob import matches
from homeostat.operators.sync.engine.paths.logical import is_within, segments

FEW: Final = 5
"""So many deletions are allowed whatever their share."""


class Limit(msgspec.Struct, frozen=True):
    """The most deletions of one sync, by number and by share of what we own; None for no limit."""

    most: int | None = None
    percent: float | None = None


def prunable(owned: Iterable[str], declared: Collection[str], scope: str) -> list[str]:
    """The owned objects of a scope that are no longer declared, the deepest first."""
    gone = (each for each in owned if each not in declared and is_within(each, scope))
    return sorted(gone, key=lambda each: (-each.count("/"), each))


def is_protected(path: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns matches the path or something above it."""
    return any(_covers(segments(each), segments(path)) for each in patterns)


def _covers(pattern: list[str], parts: list[str]) -> bool:
    return len(pattern) <= len(parts) and all(map(matches, pattern, parts))


def check_limit(count: int, owned: int, limit: Limit) -> None:
    """`ValidationError` if so many deletions are too many at once."""
    if limit.most is not None and count > limit.most:
        raise ValidationError(
            f"{count} deletions are planned; at most {limit.most} are allowed at once; raise maxDeletions if this is "
            f"intended"
        )
    share = 100 * count / max(owned, 1)
    if limit.percent is not None and count > FEW and share > limit.percent:
        raise ValidationError(
            f"{count} deletions are planned, {share:.0f} % of {owned} owned objects; at most {limit.percent:g} % are "
            f"allowed at once; raise maxDeletionPercent if this is intended"
        )
