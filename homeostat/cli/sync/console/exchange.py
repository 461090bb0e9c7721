"""What `-vv` and `-vvv` show: each request to the server and its answer, on standard error.

`-vv` shows a line each, `-vvv` also headers and bodies. Credentials and known secrets are masked, unless
`--verbose-insecure` says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from homeostat.cli.sync.console.options import Settings
from homeostat.external.rest.request import Request, Response
from homeostat.external.secrets.scrub import Scrubber

LONGEST_BODY: Final = 4096
_SECRET_HEADERS: Final = ("authorization", "cookie", "set-cookie", "proxy-authorization", "www-authenticate")
_SECRET_WORDS: Final = ("key", "token", "secret", "password", "auth")


def print_exchange(settings: Settings, scrubber: Scrubber, request: Request, response: Response) -> None:
    lines = [f"{request.method} {request.url} -> {response.status}"]
    if settings.verbosity > 2:
        lines += _headers(settings, ">", request.headers)
        lines += [f"> {_cut(request.body)}"] if isinstance(request.body, bytes) else []
        lines += _headers(settings, "<", response.headers)
        lines += [f"< {_cut(response.body)}"] if response.body else []
    for each in lines:
        click.echo(each if settings.is_insecure else scrubber.scrub(each), err=True)


def _headers(settings: Settings, mark: str, headers: Mapping[str, str]) -> list[str]:
    return [
        f"{mark} {name}: {value if settings.is_insecure or not _is_secret(name) else '***'}"
        for name, value in headers.items()
    ]


def _is_secret(name: str) -> bool:
    return name.lower() in _SECRET_HEADERS or any(each in name.lower() for each in _SECRET_WORDS)


def _cut(body: bytes) -> str:
    text = body[:LONGEST_BODY].decode(errors="replace")
    return f"{text}... ({len(body)} bytes)" if len(body) > LONGEST_BODY else text
