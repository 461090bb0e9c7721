"""What `-vv` and `-vvv` show: each request to the server and its answer, on standard error.

`-vv` shows a line each, `-vvv` also headers and bodies. Credentials, known secrets, and attributes that metadata
declares as secrets or that look like some are masked, unless `--verbose-insecure` says otherwise. Of a body that is
secret as a whole, or that is large, only the size is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import click

from homeostat.cli.sync.console.options import Settings
from homeostat.external.rest.request import Request, Response
from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import SyncError
from homeostat.operators.sync.engine.metadata.layers import documented, stored_document
from homeostat.operators.sync.engine.paths.logical import segments
from homeostat.operators.sync.engine.paths.selector import Selector
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.codec import decode, encode
from homeostat.operators.sync.engine.payload.format import JSON, by_media
from homeostat.operators.sync.engine.secrets.detect import detect, is_secret_header
from homeostat.operators.sync.session.session import Session

_HIDDEN: Final = "***"
LONGEST_BODY: Final = 4096
LARGEST_PARSED: Final = 1 << 20
"""Bytes of a body that is shown; of a larger one only its size."""


def print_exchange(settings: Settings, session: Session, request: Request, response: Response, is_secret: bool) -> None:
    lines = [f"{request.method} {request.url if settings.is_insecure else _url(request.url)} -> {response.status}"]
    if settings.verbosity > 2:
        names = None if is_secret else _secret_names(session)
        shown = _cut if settings.is_insecure else partial(_masked_body, names=names)
        lines += _headers(settings, ">", request.headers)
        if isinstance(request.body, bytes):
            lines.append(f"> {shown(request.body, _media(request.headers))}")
        lines += _headers(settings, "<", response.headers)
        if response.body:
            lines.append(f"< {shown(response.body, _media(response.headers))}")
    for each in lines:
        click.echo(each if settings.is_insecure else session.scrubber.scrub(each), err=True)


def _secret_names(session: Session) -> set[str]:
    """The last names of all attributes that metadata declares as secrets, of any collection, or files refer to."""
    found = set(session.secret_names)
    for root in (each for each in (session.shared, session.root) if each is not None):
        for address in documented(root):
            document = stored_document(root, Selector(tuple(segments(address)), True)) or {}
            for at in document.get("resource", {}).get("secretAttributes", ()):
                found.add(pointer.parse(at)[-1])
    return found


def _url(url: str) -> str:
    """Without the values of parameters that look like secrets."""
    start, mark, query = url.partition("?")
    pairs = (each.partition("=") for each in query.split("&"))
    shown = (f"{name}{sign}{_HIDDEN if is_secret_header(name) else value}" for name, sign, value in pairs)
    return start + mark + "&".join(shown)


def _media(headers: Mapping[str, str]) -> str:
    return next((value for name, value in headers.items() if name.lower() == "content-type"), "")


def _masked_body(body: bytes, media: str, names: set[str] | None) -> str:
    """`names` is None for a body that is secret as a whole."""
    if names is None or len(body) > LARGEST_PARSED:
        return f"({len(body)} bytes)"
    said = by_media(media)
    form = said if said is not None and said.is_structured else JSON
    try:
        value = decode(body, form)
    except SyncError:
        return _cut(body)
    for at in detect(value):
        value = pointer.put(value, at, _HIDDEN)
    return _cut(encode(_masked(value, names), form, is_compact=True))


def _masked(value: Json, names: set[str]) -> Json:
    match value:
        case dict():
            return {key: _HIDDEN if key in names else _masked(item, names) for key, item in value.items()}
        case list():
            return [_masked(each, names) for each in value]
        case _:
            return value


def _headers(settings: Settings, mark: str, headers: Mapping[str, str]) -> list[str]:
    return [
        f"{mark} {name}: {value if settings.is_insecure or not is_secret_header(name) else _HIDDEN}"
        for name, value in headers.items()
    ]


def _cut(body: bytes, _: str = "") -> str:
    text = body[:LONGEST_BODY].decode(errors="replace")
    return f"{text}... ({len(body)} bytes)" if len(body) > LONGEST_BODY else text
