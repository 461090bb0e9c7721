"""`homeostat sync resource request`: one request with the credentials of the context."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.payloads import read_input
from homeostat.cli.sync.console.run import Run, chosen_text, path_arguments, sync_command
from homeostat.cli.sync.resource.template import described
from homeostat.operators.sync.engine.errors import SyncError, ValidationError
from homeostat.operators.sync.engine.metadata.call import Call
from homeostat.operators.sync.engine.payload.codec import encode

_METHODS = ("get", "head", "options", "post", "put", "patch", "delete", "trace", "connect")


@click.command("request", short_help="Send one request with the credentials of the context.")
@click.argument("method", metavar="METHOD")
@path_arguments
@click.option("-f", "--payload", default=None, help="The body: a file, - for standard input, or JSON.")
@click.option("-H", "--header", "headers", multiple=True, help="A header, as Name: value. Repeatable.")
@click.option("--accept-type", default="", help="The media type to accept.")
@click.option("--content-type", default="", help="The media type of the body.")
@click.option("-y", "--yes", is_flag=True, help="Confirm a deletion.")
@click.option("-r", "--recursive", is_flag=True, hidden=True, expose_value=False)
@sync_command()
async def command(
    run: Run,
    method: str,
    path: str | None,
    path_option: str | None,
    payload: str | None,
    headers: tuple[str, ...],
    accept_type: str,
    content_type: str,
    yes: bool,
) -> None:
    """Send a request to the managed server and print its answer with its form.

    \b
    Examples:
      homeostat sync resource request get /customers
      homeostat sync resource request post /customers -f '{"id": "acme"}'
    """
    method = method.lower()
    if method not in _METHODS:
        raise SyncError(f'there is no method "{method}"; expected one of {", ".join(_METHODS)}')
    where = chosen_text(path, path_option)
    if not where.startswith("/"):
        raise ValidationError(f'path "{where}" is relative; expected a leading "/"')
    if method == "delete" and not yes:
        raise ValidationError("request delete needs --yes")
    given = {name.strip(): value.strip() for name, _, value in (each.partition(":") for each in headers)}
    body = await read_input(payload, content_type, assigns=False) if payload is not None else None
    async with run.session() as session:
        server = session.remote
        chosen = {**server.settings.headers, **given}
        if accept_type:
            chosen["Accept"] = accept_type
        if body is not None:
            chosen["Content-Type"] = content_type if "/" in content_type else body.form.media
        url = server.base + Call("GET", where.partition("?")[0]).target
        url += f"?{where.partition('?')[2]}" if "?" in where else ""
        data = encode(body.value, body.form, is_compact=True) if body is not None else None
        answer = await server.send(method.upper(), url, headers=chosen, data=data)
        print_value(run, run.scrubber.scrub_json(described(answer.payload)))
