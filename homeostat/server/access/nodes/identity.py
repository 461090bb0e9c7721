"""Which Node a user is: `system:node:NAME` in the group `system:nodes`, as the certificates of kubelets say."""

from __future__ import annotations

from typing import Final

from homeostat.server.access.user import User

NODES: Final = "system:nodes"
NODE_PREFIX: Final = "system:node:"


def node_of(user: User) -> str | None:
    """The name of the user's Node; None for users that are no Nodes."""
    if user.name.startswith(NODE_PREFIX) and NODES in user.groups:
        return user.name[len(NODE_PREFIX) :]
    return None
