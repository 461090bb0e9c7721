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

_READS = ("get", "head", "options", "trace")
_METHODS = (*_READS, "post", "put", "patch", "delete", "connect")


@click.command("request", short_help="Send one request with the credentials of the context.")
@click.argument("method", metavar="METHOD")
@path_arguments
@click.option("-f", "--payload", default=None, help="The body: a file, - for standard input, or JSON.")
@click.option("-H", "--header", "headers", multiple=True, help="A header: Name: value, or Name=value. Repeatable.")
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
    """Send a request to the managed server. The answer is printed with its form; that of a request which changes
    something only with -v.

    \b
    Examples:
      homeostat sync resource request get /customers
      homeostat sync resource request post /customers -f '{"id": "acme"}' -v
    """
    method = method.lower()
    if method not in _METHODS:
        raise SyncError(f'there is no method "{method}"; expected one of {", ".join(_METHODS)}')
    where = chosen_text(path, path_option)
    _check_path(where.partition("?")[0])
    if method == "delete" and not yes:
        raise ValidationError("request delete needs --yes")
    given = dict(map(_header, headers))
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
        if method in _READS or run.settings.verbosity:
            print_value(run, run.scrubber.scrub_json(described(answer.payload)))


def _check_path(path: str) -> None:
    if not path.startswith("/"):
        raise ValidationError(f'path "{path}" is relative; expected a leading "/"')
    if any(each in (".", "..") for each in path.split("/")):
        raise ValidationError(f'path "{path}" has the segment "." or "..", which is not allowed')


def _header(text: str) -> tuple[str, str]:
    name, sign, value = text.partition(":" if ":" in text else "=")
    if not name.strip() or not sign:
        raise ValidationError(f'"{text}" is not a header; expected "Name: value" or "Name=value"')
    return name.strip(), value.strip()
