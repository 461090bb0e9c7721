"""The findings of a check, independent of the output format. A checker (policies, contracts) fills these values, and
names the parts in `Terms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

import msgspec

Severity = Literal["critical", "high", "medium", "low"]
SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "high", "medium", "low")
"""Most severe first."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One finding and where it is; `source` is empty for objects of a cluster."""

    origin: str
    """The policy or the contract that the finding violates."""
    kind: str
    namespace: str
    name: str
    type: str
    """The rule, the same for all findings of one sort."""
    severity: Severity
    message: str
    part: str = ""
    """A part of the object, such as a container."""
    source: str = ""
    line: int = 1

    @property
    def object(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def location(self) -> str:
        return f"{self.source}:{self.line}" if self.source else ""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one policy, contract or cluster."""

    title: str
    score: int | None = None
    """The score out of 100, if there is one."""
    classification: str
    subjects: int
    findings: int
    exempted: int = 0


class Problem(msgspec.Struct, frozen=True):
    """A place that could not be read."""

    source: str
    line: int
    message: str

    @property
    def location(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What the readers of a report call its parts, in the singular."""

    topic: str = "check"
    """Of the whole report: `policy`, `contract`."""
    origin: str = "origin"
    part: str = "part"
    finding: str = "finding"
    subject: str = "object"
    has_scores: bool = True
    remedies: Mapping[str, str] = MappingProxyType({})
    """What to do about a finding, by its type; none for types that are not there."""

    @property
    def findings(self) -> str:
        return f"{self.finding}s"

    @property
    def subjects(self) -> str:
        return f"{self.subject}s"


class Report(msgspec.Struct, frozen=True):
    entries: tuple[Entry, ...] = ()
    summaries: tuple[Summary, ...] = ()
    problems: tuple[Problem, ...] = ()
    terms: Terms = Terms()
