"""A request to merge one branch of a repository into another, and what a forge can do with such requests. Pure.

All forges have at most one open request for two branches. `open_pull` returns it where it exists already, so that a
caller whose last answer was lost gets one request and not two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

State = Literal["open", "closed", "merged"]


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    url: str
    """The page for people."""
    state: State
    """`closed` without a merge."""
    title: str = ""
    body: str = ""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A request to open."""

    branch: str
    base: str
    title: str
    body: str


class Pulls(Protocol):
    """The requests of one repository. Errors are those of `forge.py`."""

    async def find(self, branch: str, base: str) -> list[Pull]:
        """The requests from one branch to another, the newest first; of very many only the newest."""

    async def open_pull(self, draft: Draft) -> Pull:
        """The new request, or the one that is open already."""

    async def edit(self, pull: Pull, *, title: str, body: str) -> Pull: ...

    async def close(self, pull: Pull, *, body: str) -> None:
        """Closes it without a merge and replaces its body, in one step."""

    async def comment(self, pull: Pull, text: str) -> None: ...

    async def add_labels(self, pull: Pull, labels: Sequence[str]) -> None: ...


def open_of(pulls: Sequence[Pull]) -> Pull | None:
    return next((each for each in pulls if each.state == "open"), None)
