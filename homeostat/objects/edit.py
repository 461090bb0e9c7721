"""The text that somebody made of an object, and what it was written for. Pure.

A change that somebody else made meanwhile changes the basis of an edit. A controller that writes the status does not:
the server counts changes of all but metadata and status as generations, where it counts them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec

from homeostat.objects import yaml
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject

TRIES: Final = 4
"""How often an edit is sent: a status that is written between the read and the patch refuses the patch."""
BY_SERVER: Final = ("resourceVersion", "managedFields")
"""Metadata that each write changes."""


class InvalidTextError(Exception):
    """The text cannot be sent as it is; the message is for the person who wrote it."""


def read_manifest(text: str, *, limit: int) -> JsonObject:
    """One object with metadata. Raises `InvalidTextError`."""
    try:
        found = yaml.load(text.encode(), limit=limit)
    except ApiError as error:
        raise InvalidTextError(error.message) from error
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        raise InvalidTextError("expected one object with metadata")
    return found


def check_same_object(edited: JsonObject, shown: JsonObject) -> None:
    """Raises `InvalidTextError` if the edit is of another kind or has another name than the object that was shown."""
    for each in ("apiVersion", "kind"):
        if edited.get(each) != shown[each]:
            raise InvalidTextError(f"{each} must stay {shown[each]}")
    for each in ("name", "namespace"):
        if edited["metadata"].get(each) != shown["metadata"].get(each):
            raise InvalidTextError(f"metadata.{each} must stay {shown['metadata'].get(each)}")


def edit_basis(metadata: JsonObject) -> str:
    """It stays the same while only the status is written. For a kind without generations, each write changes it."""
    if "generation" not in metadata:
        return str(metadata.get("resourceVersion", ""))
    kept = {name: each for name, each in metadata.items() if name not in BY_SERVER}
    return sha256(msgspec.json.encode(kept, order="sorted")).hexdigest()[:32]
