"""The Events that Home keeps: those of operators' objects, and of these the newest."""

from __future__ import annotations

import msgspec

from homeostat.web.dashboard.home.timeline import RecordedEvent, kept_events


def event(number: int, api_version: str = "a.example/v1") -> RecordedEvent:
    body = {
        "metadata": {"name": f"e{number}", "namespace": "shop", "uid": f"{number:05}", "resourceVersion": str(number)},
        "involvedObject": {"apiVersion": api_version, "kind": "Shelf", "name": "one"},
        "lastTimestamp": "2026-11-17T10:00:00Z",
    }
    return msgspec.convert(body, RecordedEvent)


def test_events_of_others_are_dropped_and_the_newest_are_kept() -> None:
    kept = kept_events({"a.example"}, most=10)
    for number in range(1, 1001):
        kept.put(event(number))
        kept.put(event(number, "v1"))
    assert (len(kept) <= 510, kept.is_cut) == (True, True)
    assert [each.metadata.name for each in kept.first(2)] == ["e1000", "e999"]
    assert kept.version == 1000

    before = kept.changes
    kept.put(event(2000, "apps/v1"))
    assert kept.changes == before, "what is shown need not be computed again"
    kept.remove(event(1000))
    assert kept.first(1)[0].metadata.name == "e999"

    listing = kept.listing()
    listing.put(event(7))
    assert kept.first(1)[0].metadata.name == "e999"
    listing.swap(3000)
    assert [each.metadata.name for each in kept.first(9)] == ["e7"]
    assert (kept.version, kept.changes > before, kept.is_cut) == (3000, True, False)
