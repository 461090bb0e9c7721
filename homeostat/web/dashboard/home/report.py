"""What a section reports to Home: how many objects are as declared, what is wrong, what changed, what comes next. Pure.

    Report(
        noun="contract",
        total=40,
        as_declared=38,
        problems=(Problem("shop/mill", f"{ROOT}/contracts/shop/mill", "WorkloadTypeMatch failed", since=since),),
        upcoming=(Upcoming("shop/mill", path, "readiness expires", at="2026-12-01T00:00:00Z", look="warn"),),
    )

Home sorts the problems of all sections by how bad they are and how long they last, and shows the first ones; so a
section reports its own worst ones, at most `MOST_REPORTED` of each. Times are timestamps as Kubernetes writes them.
Texts are escaped and shortened when they are shown; they must not contain secrets.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from homeostat.objects.kind import Kind

MOST_REPORTED: Final = 25
Look = Literal["good", "bad", "warn", "plain"]
"""`bad` failed, `warn` is unknown or will fail, `good` succeeded."""


Severity = Literal["bad", "warn"]


class Problem(msgspec.Struct, frozen=True):
    """An object that is not as declared. `severity` is `warn` where the state is unknown or another is only near."""

    name: str
    path: str
    text: str
    severity: Severity = "bad"
    since: str = ""
    object: tuple[Kind, str, str] | None = None
    """Kind, namespace and name of the object, for a link to its page."""
    word: str = ""
    """Its state; by default `failed` or `warning`, as severe as it is."""


class Change(msgspec.Struct, frozen=True):
    name: str
    path: str
    text: str
    at: str
    look: Look = "plain"


class Upcoming(msgspec.Struct, frozen=True):
    """What is due, expires, or is frozen (without a time: until somebody resumes it)."""

    name: str
    path: str
    text: str
    at: str = ""
    look: Look = "plain"
    otherwise: str = "until somebody resumes it"
    """Shown instead of a missing time."""


def frozen(name: str, path: str) -> Upcoming:
    """An object that its operator leaves as it is, by the annotation that pauses it."""
    return Upcoming(name, path, "is paused")


class Report(msgspec.Struct, frozen=True, kw_only=True):
    noun: str
    """Of one object: `resource`."""
    total: int
    as_declared: int
    wrong: int | None = None
    """How many are known not to be as declared; by default as many as `problems` has with the severity `bad`."""
    paused: int = 0
    """How many stay as they are because somebody wants it so. The rest is unknown or in progress."""
    paused_word: str = "paused"
    plural: str = ""
    problems: tuple[Problem, ...] = ()
    changes: tuple[Change, ...] = ()
    """The newest ones; Events of the operators' objects need not be repeated here: Home reads them itself."""
    upcoming: tuple[Upcoming, ...] = ()

    @property
    def failed(self) -> int:
        return self.wrong if self.wrong is not None else sum(each.severity == "bad" for each in self.problems)
