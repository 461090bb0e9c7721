"""Decides which names of a definition are accepted: those that no other definition of its group has. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from homeostat.objects.json import JsonObject


class Decision(NamedTuple):
    """The accepted names. `reason` and `message` are of the last conflict, as in Kubernetes; empty without one."""

    names: JsonObject
    reason: str = ""
    message: str = ""


def accept_names(wanted: JsonObject, former: JsonObject, others: Iterable[JsonObject]) -> Decision:
    """`former` are the names accepted so far: they never conflict, and a name in conflict stays what it was."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for names in others:
        resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    resources.discard("")
    kinds.discard("")
    accepted: JsonObject = {"plural": "", "kind": "", **former}
    reason = message = ""
    for field, taken in _FIELDS.items():
        value = wanted.get(field)
        asked = value if isinstance(value, list) else [value]
        own = former.get(field)
        held = own if isinstance(own, list) else [own]
        used = kinds if taken else resources
        clash = next((each for each in asked if each and each in used and each not in held), None)
        if clash is not None:
            reason, message = f"{field[0].upper()}{field[1:]}Conflict", f'"{clash}" is already in use'
        elif value:
            accepted[field] = value
        else:
            accepted.pop(field, None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    else:
        accepted.pop("categories", None)
    return Decision(accepted, reason, message)


_FIELDS = {"plural": False, "singular": False, "shortNames": False, "kind": True, "listKind": True}
"""Whether the field names a kind; the others name resources."""
