"""Whether the image of a commit is still being built, from the workflow runs of the commit. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

_WAITING: Final = frozenset({"queued", "waiting", "pending", "requested"})
_UNSUCCESSFUL: Final = frozenset({"failure", "cancelled", "timed_out"})


class Build(Enum):
    RUNNING = "running"
    QUEUED = "queued"
    FAILED = "failed"
    COMPLETED = "completed"
    NOT_FOUND = "not found"

    @property
    def is_pending(self) -> bool:
        return self in (Build.RUNNING, Build.QUEUED)


class Run(NamedTuple):
    """A workflow run, in GitHub's words."""

    status: str
    conclusion: str


def build_of(runs: Iterable[Run]) -> Build:
    """A build that runs or waits decides, then one that completed, then one that failed."""
    found = {_state(run) for run in runs}
    order = (Build.RUNNING, Build.QUEUED, Build.COMPLETED, Build.FAILED)
    return next((state for state in order if state in found), Build.NOT_FOUND)


def _state(run: Run) -> Build:
    if run.status == "in_progress":
        return Build.RUNNING
    if run.status in _WAITING:
        return Build.QUEUED
    if run.status != "completed":
        return Build.NOT_FOUND
    return Build.FAILED if run.conclusion in _UNSUCCESSFUL else Build.COMPLETED
