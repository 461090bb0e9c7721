"""A section of the dashboard: its title, its pages and forms, and its part of the overview.

Operators declare sections as `SECTIONS`. The dashboard shows those of all our operators, whether they run in this
process or elsewhere: a section whose kinds are not installed is empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from homeostat.client.base import Client
from homeostat.runtime.faces.face import load_reference
from homeostat.runtime.faces.section import DeclaredSection
from homeostat.web.dashboard.html.markup import Node
from homeostat.web.dashboard.visit import View, Visit
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.refusal import forbidden

Effect = Callable[[Visit], Awaitable[str]]
"""Carries out a form, and returns the page to show next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    title: str
    """Of its link, and the `section` of its pages."""
    path: str
    """The path of its first page."""
    views: Mapping[str, View]
    """Pages by path."""
    forms: Mapping[str, Effect] = field(default_factory=dict)
    summary: Callable[[Visit], Awaitable[Node]]
    """Its part of the overview; None if there is nothing to show."""
    is_for_administrators: bool = False

    def is_visible(self, caller: Caller) -> bool:
        return caller.is_admin or not self.is_for_administrators

    def check_visible(self, caller: Caller) -> None:
        if not self.is_visible(caller):
            raise forbidden(f"only administrators may see {self.title.lower()}")


async def open_sections(declared: Iterable[DeclaredSection], client: Client) -> list[Section]:
    """Imports the sections in a thread: that takes some tenths of a second."""
    openers = await asyncio.to_thread(lambda: [_opener(each) for each in declared])
    return [each(client) for each in openers]


def _opener(declared: DeclaredSection) -> Callable[[Client], Section]:
    found: Callable[[Client], Section] = load_reference(declared.open)
    return found
