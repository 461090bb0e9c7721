"""The status fields of a kind, by wire name. A server silently drops other fields from a write, so they are refused."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

import msgspec

from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.json import Json


class UnknownStatusFieldError(ValueError):
    """The kind has no such status field; the value would be lost."""

    reason = "UnknownStatusField"


class StatusFields:
    """The status fields of one kind. A check compares two sets of names."""

    __slots__ = ("_kind", "_names")

    def __init__(self, kind: str, names: frozenset[str]) -> None:
        self._kind, self._names = kind, names

    def check(self, fields: Mapping[str, Json]) -> None:
        if fields and not fields.keys() <= self._names:
            raise self._error(min(fields.keys() - self._names))

    def _error(self, field: str) -> UnknownStatusFieldError:
        near = get_close_matches(field, sorted(self._names), n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"it has {', '.join(sorted(self._names))}"
        return UnknownStatusFieldError(
            f'the status of {self._kind} has no field "{field}", and the server would drop it; {hint} '
            "(fields are given by their wire names, and declared in the status type of the kind)"
        )


def status_fields_of(kind: CustomKind) -> StatusFields | None:
    """None if the kind has no status."""
    if kind.status is None:
        return None
    names = frozenset(each.encode_name for each in msgspec.structs.fields(kind.status))
    return StatusFields(kind.kind.kind, names)
