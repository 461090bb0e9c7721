"""What was found, before it has a form."""

from __future__ import annotations

import msgspec

from homeostat.operators.policy.engine.manifest import Trouble
from homeostat.operators.policy.spec import Severity


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One violation and where it is; `source` is empty for objects of a cluster."""

    policy: str
    kind: str
    namespace: str
    name: str
    type: str
    severity: Severity
    message: str
    container: str = ""
    source: str = ""
    line: int = 1

    @property
    def object(self) -> str:
        return f"{self.kind}/{self.name}"


class ScoreLine(msgspec.Struct, frozen=True, kw_only=True):
    """How a policy, a namespace or a cluster stands."""

    title: str
    score: int
    classification: str
    pods: int
    violations: int
    exempted: int = 0


class Report(msgspec.Struct, frozen=True):
    entries: tuple[Entry, ...] = ()
    scores: tuple[ScoreLine, ...] = ()
    troubles: tuple[Trouble, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not self.entries and not self.troubles
