"""`/dashboard`: what each section has to show first."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.objects.errors import ForbiddenError
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Node, el
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.visit import Visit


class Overview:
    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections

    async def show(self, visit: Visit) -> Page:
        shown = [each for each in self._sections if await each.is_visible(visit.caller)]
        content: list[Node] = [el("h1", "Overview", class_="unseen")]
        content += [await _summary(each, visit) for each in shown]
        return Page("Overview", content, "Overview")


async def _summary(section: Section, visit: Visit) -> Node:
    try:
        return await section.summary(visit)
    except ForbiddenError:
        # With a cluster, this server may be allowed to read resources and nothing else.
        return None
