"""Who owns which object of a server: the record that keeps prune from deleting what others made. Pure.

An object is ours if we created it or were told to adopt it. Only what is ours, is no longer declared and is not
protected may be deleted, and never more at once than the limit allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths.logical import is_within


@dataclass(frozen=True, slots=True)
class Record:
    """Ids on the server by logical path."""

    owned: Mapping[str, str] = field(default_factory=dict)
    protected: frozenset[str] = frozenset()

    def with_owned(self, path: str, identity: str) -> Record:
        return replace(self, owned={**self.owned, path: identity})

    def without(self, path: str) -> Record:
        return replace(self, owned={each: identity for each, identity in self.owned.items() if each != path})


@dataclass(frozen=True, slots=True)
class Limit:
    """The most deletions of one sync, by number and by share of what we own; None for no limit."""

    most: int | None = None
    percent: float | None = None


def prunable(record: Record, declared: Iterable[str], scope: str) -> list[str]:
    """The owned objects of a scope that are no longer declared, the deepest first."""
    there = set(declared)
    gone = (each for each in record.owned if each not in there and is_within(each, scope))
    return sorted((each for each in gone if each not in record.protected), key=lambda each: (-each.count("/"), each))


def check_limit(record: Record, paths: list[str], limit: Limit) -> None:
    """`ValidationError` if that is too many at once."""
    share = 100 * len(paths) / max(len(record.owned), 1)
    if limit.most is not None and len(paths) > limit.most:
        raise ValidationError(f"{len(paths)} deletions are planned; at most {limit.most} are allowed at once")
    if limit.percent is not None and share > limit.percent:
        raise ValidationError(f"deletions of {share:.0f} % of all objects are planned; {limit.percent:g} % are allowed")
