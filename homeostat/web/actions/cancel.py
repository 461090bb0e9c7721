"""Requests the cancellation of the run of a resource: of the one that is shown, never of a later one."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.operators.actions.api import CANCEL
from homeostat.web.actions.index.lookup import Found, no_resource
from homeostat.web.kit.refusal import RefusalError


async def cancel_run(client: Client, found: Found, ticket: str = "") -> None:
    """`ticket` is that of the run that the caller saw; any by default. `RefusalError` 409 if it is not running."""
    run = found.entry.read_status().run
    name = found.entry.metadata.name
    if run is None or run.outcome is not None:
        raise RefusalError(409, f"{name} has no run to cancel: none is under way")
    if ticket not in ("", run.ticket):
        raise RefusalError(409, f"that run of {name} has ended, and another one is under way; open its page again")
    try:
        await client.merge(found.indexed.path, {"metadata": {"annotations": {CANCEL: run.ticket}}})
    except NotFoundError as error:
        raise no_resource() from error
