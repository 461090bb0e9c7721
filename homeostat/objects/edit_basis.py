"""What an edit was written for, so that a change of somebody else is noticed. Pure.

A controller that writes the status meanwhile does not matter: the server counts changes of all but metadata and status
as generations, where it counts them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject

TRIES: Final = 4
"""How often an edit is sent: a status that is written between the read and the patch refuses the patch."""
BY_SERVER: Final = ("resourceVersion", "managedFields")
"""Metadata that each write changes."""


def edit_basis(metadata: JsonObject) -> str:
    """It stays the same while only the status is written. For a kind without generations, each write changes it."""
    if "generation" not in metadata:
        return str(metadata.get("resourceVersion", ""))
    kept = {name: each for name, each in metadata.items() if name not in BY_SERVER}
    return sha256(msgspec.json.encode(kept, order="sorted")).hexdigest()[:32]
