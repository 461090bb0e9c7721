"""What became of a sync, resource by resource. Pure."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Literal

import msgspec

from homeostat.operators.sync.run.plan import Change, Mode

Became = Literal["created", "updated", "unchanged", "deleted", "gone", "undeclared", "held", "failed"]


class Result(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    path: str
    became: Became
    id: str = ""
    message: str = ""
    """Why it is held or failed; without secrets."""
    kind: str = ""
    """The kind of the error: Validation, NotFound, Auth, Conflict, Transport or Internal."""
    fields: tuple[str, ...] = ()
    """Pointers that differed."""
    changed_by: str = ""
    changes: tuple[Change, ...] = ()
    """What differed, masked."""


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel", dict=True):
    mode: Mode
    revision: str = ""
    targeted: int = 0
    """Declared resources; objects to delete are not among them."""
    results: tuple[Result, ...] = ()
    health: str = ""
    """The error of the health check after the changes; empty if it succeeded or none is configured."""
    retry_at: float | None = None
    """When to sync again, in seconds since 1970: the server asked to wait, or a window opens."""

    def count(self, *kinds: Became) -> int:
        return sum(self._counts[each] for each in kinds)

    @cached_property
    def _counts(self) -> Counter[Became]:
        return Counter(each.became for each in self.results)

    @property
    def applied(self) -> int:
        return self.count("created", "updated", "unchanged")

    @property
    def pruned(self) -> int:
        return self.count("deleted", "gone")

    @cached_property
    def failed(self) -> list[Result]:
        return [each for each in self.results if each.became == "failed"]

    @cached_property
    def held(self) -> list[Result]:
        return [each for each in self.results if each.became == "held"]

    @property
    def is_complete(self) -> bool:
        """Whether everything is as declared, as far as this sync was allowed to make it so."""
        return not self.failed and not self.health
