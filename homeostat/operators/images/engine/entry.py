"""The result of a pass over one Deployment, and the texts that the HTTP API gives of all. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from homeostat.operators.images.engine.annotations import Tracked

Action = Literal["patched", "up_to_date", "skipped", "failed"]
Status = Literal["success", "failure", "skipped"]
_STATUS: Final[dict[Action, Status]] = {
    "patched": "success",
    "up_to_date": "success",
    "skipped": "skipped",
    "failed": "failure",
}
_WIDTHS: Final = (12, 24, 8, 8)
_COLUMNS: Final = ("NAMESPACE", "DEPLOYMENT", "ENABLED", "BRANCH", "IMAGE")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One object of `/reconcile`; a SHA that does not apply is absent there."""

    deployment: str
    namespace: str
    action: Action
    from_sha: str | msgspec.UnsetType = msgspec.UNSET
    to_sha: str | msgspec.UnsetType = msgspec.UNSET
    status: Status
    message: str


def patched(tracked: Tracked, *, old: str, new: str) -> Entry:
    message = f"{tracked.title} patched successfully to version {new}"
    return _entry(tracked, "patched", message, old=old, new=new)


def proposed(tracked: Tracked, *, old: str, new: str, url: str) -> Entry:
    """`patched`, in a pull request and not yet in the branch."""
    message = f"{tracked.title} proposed at version {new} in pull request {url}"
    return _entry(tracked, "patched", message, old=old, new=new)


def up_to_date(tracked: Tracked, *, new: str) -> Entry:
    return _entry(tracked, "up_to_date", f"{tracked.title} is up to date at {new}", new=new)


def skipped(tracked: Tracked, reason: str = "") -> Entry:
    """`reason` is empty for a Deployment that an annotation turns off."""
    text = reason or f"{tracked.title} is disabled (gitops.operator.enabled=false)"
    return _entry(tracked, "skipped", text)


def failed(tracked: Tracked, problem: str) -> Entry:
    return _entry(tracked, "failed", f"{tracked.title}: {problem}")


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Processed Deployments first, skipped ones last; otherwise as given."""
    return sorted(entries, key=lambda entry: entry.action == "skipped")


def status_lines(tracked: Sequence[Tracked]) -> Iterator[str]:
    """The page `/status`."""
    yield f"gitops-operator status\ntracked deployments: {len(tracked)}\n\n"
    if not tracked:
        yield "No Deployment has the annotations of gitops.operator\n"
        return
    yield f"{_line(_COLUMNS)}\n"
    for each in tracked:
        yield f"{_line(_row(each))}\n"


def _entry(tracked: Tracked, action: Action, message: str, *, old: str = "", new: str = "") -> Entry:
    return Entry(
        deployment=tracked.label,
        namespace=tracked.namespace,
        action=action,
        from_sha=old or msgspec.UNSET,
        to_sha=new or msgspec.UNSET,
        status=_STATUS[action],
        message=message,
    )


def _row(tracked: Tracked) -> tuple[str, ...]:
    settings = tracked.settings
    enabled = "true" if settings.enabled else "false"
    image = f"{tracked.container}:{tracked.version}"
    return (tracked.namespace, tracked.label, enabled, settings.observe_branch, image)


def _line(row: Sequence[str]) -> str:
    *cells, last = row
    return " ".join([*(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)), last])
