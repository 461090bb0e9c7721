"""What `-vv` and `-vvv` show: each request to the server and its answer, on standard error.

`-vv` shows a line each, `-vvv` also headers and bodies. Credentials, known secrets, and attributes that metadata
declares as secrets or that look like some are masked, unless `--verbose-insecure` says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click
import msgspec

from homeostat.cli.sync.console.options import Settings
from homeostat.external.rest.request import Request, Response
from homeostat.objects.json import Json
from homeostat.operators.sync.engine.metadata.layers import documented, stored_document
from homeostat.operators.sync.engine.paths.logical import segments
from homeostat.operators.sync.engine.paths.selector import Selector
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.secrets.detect import detect, is_secret_header
from homeostat.operators.sync.session.session import Session

LONGEST_BODY: Final = 4096
LARGEST_PARSED: Final = 1 << 20
"""Bytes of a body that is shown; of a larger one only its size."""


def print_exchange(settings: Settings, session: Session, request: Request, response: Response) -> None:
    lines = [f"{request.method} {request.url} -> {response.status}"]
    if settings.verbosity > 2:
        names = set[str]() if settings.is_insecure else _secret_names(session)
        lines += _headers(settings, ">", request.headers)
        lines += [f"> {_body(settings, request.body, names)}"] if isinstance(request.body, bytes) else []
        lines += _headers(settings, "<", response.headers)
        lines += [f"< {_body(settings, response.body, names)}"] if response.body else []
    for each in lines:
        click.echo(each if settings.is_insecure else session.scrubber.scrub(each), err=True)


def _secret_names(session: Session) -> set[str]:
    """The last names of all attributes that metadata declares as secrets, of any collection."""
    found = set[str]()
    for root in (each for each in (session.shared, session.root) if each is not None):
        for address in documented(root):
            document = stored_document(root, Selector(tuple(segments(address)), True)) or {}
            for at in document.get("resource", {}).get("secretAttributes", ()):
                found.add(pointer.parse(at)[-1])
    return found


def _body(settings: Settings, body: bytes, names: set[str]) -> str:
    if settings.is_insecure or len(body) > LARGEST_PARSED:
        return _cut(body) if settings.is_insecure else f"({len(body)} bytes)"
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _cut(body)
    for at in detect(value):
        value = pointer.put(value, at, "***")
    return _cut(msgspec.json.encode(_masked(value, names)))


def _masked(value: Json, names: set[str]) -> Json:
    match value:
        case dict():
            return {key: "***" if key in names else _masked(item, names) for key, item in value.items()}
        case list():
            return [_masked(each, names) for each in value]
        case _:
            return value


def _headers(settings: Settings, mark: str, headers: Mapping[str, str]) -> list[str]:
    return [
        f"{mark} {name}: {value if settings.is_insecure or not is_secret_header(name) else '***'}"
        for name, value in headers.items()
    ]


def _cut(body: bytes) -> str:
    text = body[:LONGEST_BODY].decode(errors="replace")
    return f"{text}... ({len(body)} bytes)" if len(body) > LONGEST_BODY else text
