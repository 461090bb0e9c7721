"""How the objects of a kind are reconciled now: the annotation whose new value their operator waits for."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from homeostat.objects.kind import Kind


class Trigger(msgspec.Struct, frozen=True):
    """`given` is an annotation with a value without which the operator ignores an object of the kind, and `served` a
    kind that the server has if the operator is installed.
    """

    annotation: str
    given: tuple[str, str] | None = None
    served: Kind | None = None


Triggers = Mapping[tuple[str, str], Trigger]
"""By group and plural; the plural `*` stands for all kinds of a group."""
