"""Deletions that were requested and that the watch has not delivered yet. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed, Listing, Lost


class PendingDeletions:
    """By kind. A list without the object proves its deletion as an event does."""

    def __init__(self) -> None:
        self._awaited: dict[str, set[str]] = {}
        self._listed: dict[str, set[str]] = {}

    def expect(self, key: str, uids: Iterable[str]) -> None:
        """These objects will be deleted; wait for the delivery."""
        self._awaited.setdefault(key, set()).update(uids)

    def is_awaited(self, key: str) -> bool:
        return bool(self._awaited.get(key))

    def observe(self, event: FeedEvent) -> None:
        match event:
            case Listing(key) if key in self._awaited:
                self._listed[key] = set()
            case Changed(key, metadata) if key in self._listed:
                self._listed[key].add(metadata.uid)
            case Gone(key, metadata) if key in self._awaited:
                self._awaited[key].discard(metadata.uid)
            case Listed(key) if key in self._listed:
                self._awaited[key] &= self._listed.pop(key)
            case Lost(key):
                self._listed.pop(key, None)
                self._awaited.pop(key, None)
