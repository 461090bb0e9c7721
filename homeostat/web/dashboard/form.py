"""Reads the fields of a form that a page sent, within limits."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from homeostat.edge.request import Request
from homeostat.web.kit.refusal import RefusalError

MOST_FIELDS: Final = 20
FORM_BYTES: Final = 64 * 1024
"""The limit of a form. Nobody needs to be logged in to send one, and decoding takes some 100 ms a megabyte."""


def read_form(request: Request, largest: int = FORM_BYTES, *, most_fields: int = MOST_FIELDS) -> dict[str, str]:
    if len(request.body) > largest:
        raise RefusalError(413, f"the form has {len(request.body)} bytes; a form may have {largest}")
    try:
        return dict(parse_qsl(request.body.decode(), keep_blank_values=True, max_num_fields=most_fields))
    except (UnicodeDecodeError, ValueError) as error:
        raise RefusalError(400, "the form cannot be read") from error
