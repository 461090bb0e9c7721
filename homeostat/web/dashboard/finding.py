"""What the sections know of one object: the page of an object links to the pages that judge it.

    Finding("shop/orders", f"{ROOT}/contracts/shop/orders", "NonCompliant", "bad", "PortsValid: ...")

A section looks an object up in what it watches anyway, so that the page costs no list of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.visit import Visit


class Subject(msgspec.Struct, frozen=True):
    """The object that a page shows."""

    kind: Kind
    namespace: str
    name: str
    whole: JsonObject = {}

    def is_of(self, *kinds: Kind) -> bool:
        """Whatever the version is."""
        return any((self.kind.group, self.kind.plural) == (each.group, each.plural) for each in kinds)


class Finding(msgspec.Struct, frozen=True):
    """One page of a section that is about the object; `state` is its word for it, and `look` that of a chip."""

    name: str
    path: str
    state: str = ""
    look: str = "plain"
    text: str = ""


FindAbout = Callable[[Visit, Subject], Awaitable[Sequence[Finding]]]
