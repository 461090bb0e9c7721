"""Serves pages or tools on this machine until a signal stops it."""

from __future__ import annotations

from typing import Final

import click

from homeostat.cli.console.endpoint import why_not_listening
from homeostat.cli.console.stop import Stop
from homeostat.cli.contract.session.result import ContractFailure
from homeostat.edge.limits import Limits
from homeostat.edge.server import Handler, serve

HOST: Final = "127.0.0.1"
_STOP_WITHIN_S: Final = 10.0


async def serve_until_stopped(
    handler: Handler, port: int, *, title: str, path: str = "/", limits: Limits | None = None
) -> None:
    """`title` says on standard error what is served."""
    stop = Stop("the server", within_s=_STOP_WITHIN_S)
    stop.listen()
    try:
        server = await serve(handler, host=HOST, port=port, limits=limits)
    except OSError as error:
        raise ContractFailure(why_not_listening(error, f"{HOST}:{port}", option="--port", purpose="listen")) from error
    try:
        click.echo(f"{title} at http://{HOST}:{server.port}{path}", err=True)
        await stop.wait()
    finally:
        await server.stop(_STOP_WITHIN_S / 2)
    stop.report_end()
