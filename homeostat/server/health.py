"""Serves `/livez`, `/readyz` and `/healthz`: one word, or a line for each check.

`?verbose` lists the checks and `?exclude=NAME` leaves one out, as in Kubernetes; `/readyz/NAME` is one check alone. A
server that cannot write is alive and not ready.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import parse_qs

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.errors import BadRequestError, NotFoundError
from homeostat.server.access.user import User

_TEXT = "text/plain; charset=utf-8"
_MOST_PARAMETERS = 20
Check = Callable[[], str]
"""Returns what is wrong; empty if nothing is."""


class Health:
    def __init__(self, store: Check) -> None:
        ping: dict[str, Check] = {"ping": lambda: ""}
        self._checks = {"livez": ping, "readyz": {**ping, "store": store}, "healthz": {**ping, "store": store}}

    async def show(self, request: Request, user: User) -> Reply:
        page, _, name = request.path.strip("/").partition("/")
        checks = self._checks[page]
        if name:
            if name not in checks:
                raise NotFoundError(f"{page} has no check {name!r}; it has {', '.join(checks)}")
            checks = {name: checks[name]}
        asked = _parameters(request.query) if request.query else {}
        excluded = asked.get("exclude", [])
        wrong = {each: found for each, check in checks.items() if each not in excluded and (found := check())}
        if "verbose" in asked:
            lines = [_line(each, excluded, wrong) for each in checks]
            return _reply(
                is_well=not wrong, text="\n".join([*lines, f"{page} check {'failed' if wrong else 'passed'}\n"])
            )
        return _reply(is_well=not wrong, text=f"not ready: {', '.join(wrong.values())}" if wrong else "ok")


def _parameters(query: str) -> dict[str, list[str]]:
    try:
        return parse_qs(query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise BadRequestError(f"invalid query: {error}") from error


def _line(name: str, excluded: Sequence[str], wrong: dict[str, str]) -> str:
    if name in wrong:
        return f"[-]{name} failed: {wrong[name]}"
    return f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok"


def _reply(*, is_well: bool, text: str) -> Reply:
    return Reply(200 if is_well else 503, text.encode(), _TEXT)
