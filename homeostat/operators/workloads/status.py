"""Patches of a status. Pure."""

from __future__ import annotations

from homeostat.objects.json import JsonObject


def status_patch(status: JsonObject, *required: str) -> JsonObject:
    """The merge patch for a status. Counts of 0 are removed, except `required` ones."""
    return {
        "status": {
            name: None if _is_nothing(value) and name not in required else value for name, value in status.items()
        }
    }


def is_same_status(old: JsonObject, new: JsonObject) -> bool:
    """Whether a patch of the old status by the new one would change nothing."""
    for name, value in new.items():
        former = old.get(name)
        if value != former and not (_is_nothing(value) and _is_nothing(former)):
            return False
    return True


def _is_nothing(value: object) -> bool:
    return value is None or value == 0 or value == [] or value == {} or value == ""
