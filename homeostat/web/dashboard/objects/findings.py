"""What the operators say of an object, as a part of its page. A section that cannot answer says so, hiding no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final

import msgspec

from homeostat.client.base import UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.web.dashboard.finding import FindAbout, Finding, Subject
from homeostat.web.dashboard.html.components import Row, chip, one_line, row, table
from homeostat.web.dashboard.html.markup import Node, el
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.visit import Visit, is_in
from homeostat.web.kit.refusal import RefusalError

MOST_SHOWN: Final = 20
_WITHIN_S: Final = 1.5


class Findings:
    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = [each for each in sections if each.findings is not None]

    async def show(self, visit: Visit, subject: Subject) -> Node:
        """None for an object that no section knows."""
        asked: list[tuple[str, Awaitable[Sequence[Finding]]]] = []
        for each in self._sections:
            scope = await each.scope(visit.caller, [subject.namespace])
            if each.findings is not None and is_in(scope, subject.namespace):
                seen = msgspec.structs.replace(visit, scope=scope)
                asked.append((each.title, _ask(each.findings, seen, subject)))
        answers = await asyncio.gather(*(answer for _, answer in asked))
        rows = [
            _row(title, at, each)
            for (title, _), found in zip(asked, answers, strict=True)
            for at, each in enumerate(found[:MOST_SHOWN])
        ]
        if not rows:
            return None
        body = table("What operators say of it", ("Section", "Page", "State", "Message"), rows, class_="findings")
        return el("section", el("h2", "Operators"), body)


async def _ask(find: FindAbout, visit: Visit, subject: Subject) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(_WITHIN_S):
            return await find(visit, subject)
    except TimeoutError:
        return [Finding("", "", "unknown", "warn", f"no answer within {_WITHIN_S:g} s")]
    except (ApiError, RefusalError, UnreachableError, msgspec.MsgspecError) as error:
        return [Finding("", "", "unknown", "warn", str(error))]


def _row(title: str, at: int, finding: Finding) -> Row:
    return row(
        f"finding-{title.lower()}-{at}",
        title,
        el("a", finding.name, href=finding.path) if finding.path else "–",
        chip(finding.state, finding.look) if finding.state else "–",
        el("span", one_line(finding.text), class_="why"),
    )
