"""Opens a request where it may exist already, at any forge."""

from __future__ import annotations

from collections.abc import Awaitable

from homeostat.external.forges.forge import RefusedError
from homeostat.external.forges.pulls.pull import Draft, Pull, Pulls, open_of


async def new_or_open(creation: Awaitable[Pull], pulls: Pulls, draft: Draft) -> Pull:
    """The result of `creation`; where the forge refuses it because the request exists, the open one."""
    try:
        return await creation
    except RefusedError as error:
        # Gitea and GitLab answer 409 where the request exists; GitHub 422, as for every invalid request.
        found = open_of(await pulls.find(draft.branch, draft.base)) if error.status in (409, 422) else None
        if found is None:
            raise
        return found
