"""The attributes of a call that authorization decides on."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from homeostat.server.access.user import User


class Attributes(msgspec.Struct, frozen=True, gc=False):
    """`path` is set for non-resource URLs (`/metrics`); the fields from `group` on for resources."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    selected_nodes: tuple[str, ...] = ()
    """The values of a field selector on `spec.nodeName`, if the user is a Node."""


class Decision(NamedTuple):
    is_allowed: bool
    reason: str = ""
