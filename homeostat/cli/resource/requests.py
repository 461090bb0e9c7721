"""Sends the same request for several resources. An error is printed and does not stop the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import click

from homeostat.cli.console.connection import Connection
from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.targets import Target
from homeostat.cli.resource.kinds import named_resources, resource_title
from homeostat.cli.resource.wait import Awaited, wait_for
from homeostat.objects.errors import ApiError

Ask = Callable[[Target], Awaitable[Awaited]]


class Requests:
    """`accepted` are the resources whose requests succeeded."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.accepted: list[Awaited] = []
        self._is_refused = False

    async def send(self, words: Sequence[str], ask: Ask, *, done: str) -> None:
        """Prints the name of each resource and `done`."""
        for target in await named_resources(self._connection.client, words):
            title = resource_title(target.kind.kind, target.name)
            try:
                self.accepted.append(await ask(target))
            except ApiError as error:
                self._is_refused = True
                Failure(error.message).show()
            else:
                click.echo(f"{title} {done}")

    async def end(self, *, is_awaited: bool, within_s: float) -> None:
        """Exits with 1 if a request failed, or if a resource does not reach its goal in time."""
        if is_awaited:
            await wait_for(self._connection.client, self.accepted, within_s)
        if self._is_refused:
            raise click.exceptions.Exit(1)
