"""The way to the next page of a list, as a `Link` header. Pure."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from homeostat.edge.reply import Fields
from homeostat.edge.request import Request

AFTER = "after"


def next_page(request: Request, after: int | str) -> Fields:
    """The same question, from behind this one on."""
    query = [(name, value) for name, value in parse_qsl(request.query) if name != AFTER]
    return (("Link", f'<{request.path}?{urlencode([*query, (AFTER, after)])}>; rel="next"'),)
