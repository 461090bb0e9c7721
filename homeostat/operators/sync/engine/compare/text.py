"""Differences for people: a heading, a unified diff of the whole resource, and a summary. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.compare.difference import Difference
from homeostat.operators.sync.engine.payload.codec import Payload, encode, wrapped
from homeostat.operators.sync.engine.payload.format import JSON
from homeostat.operators.sync.engine.payload.pointer import MISSING

_SUMMARY = {"CHANGED": "changed", "ADDED": "added", "REMOVED": "removed"}


def state_of(found: Sequence[Difference]) -> str:
    """One word for a resource that differs: REMOVED if the server lacks it."""
    whole = found[0] if len(found) == 1 and found[0].path == "" else None
    if whole is not None and whole.remote is None:
        return "REMOVED"
    return "ADDED" if whole is not None and whole.local is None else "CHANGED"


def unified(local: Json, remote: Json) -> list[str]:
    """From the repository's value to the server's, with all lines as context."""
    before, after = _lines(local), _lines(remote)
    size = max(len(before), len(after), 1)
    return list(unified_diff(before, after, "repository", "managed-service", n=size, lineterm=""))


def declared_part(remote: Json, local: Json) -> Json:
    """The server's value without the fields that the repository does not declare."""
    if isinstance(remote, dict) and isinstance(local, dict):
        return {key: declared_part(item, local[key]) for key, item in remote.items() if key in local}
    return remote


def _lines(value: Json) -> list[str]:
    if value is MISSING or value is None:
        return []
    shown = wrapped(Payload(value))
    return shown.splitlines() if isinstance(shown, str) else encode(shown, JSON).decode().splitlines()


def summary(states: Sequence[str]) -> str:
    counts = [f"{states.count(each)} {word}" for each, word in _SUMMARY.items() if each in states]
    subject = "1 resource differs" if len(states) == 1 else f"{len(states)} resources differ"
    return f"{subject}: {', '.join(counts)}"
