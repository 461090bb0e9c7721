"""What a call wants to do, in the words that authorization knows. A value; nothing is decided here."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from homeostat.server.access.user import User


class Attributes(msgspec.Struct, frozen=True, gc=False):
    """`path` is set for URLs that are not of objects (`/metrics`), the other fields but `verb` for those that are."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Decision(NamedTuple):
    is_allowed: bool
    reason: str = ""
