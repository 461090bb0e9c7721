"""How the objects of a kind are reconciled now, and paused: annotations that their operator reads."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from homeostat.objects.kind import Kind


class Trigger(msgspec.Struct, frozen=True):
    """`annotation` is the one whose new value the operator waits for, empty if there is none. `given` is an annotation
    with a value without which the operator ignores an object of the kind, and `served` a kind that the server has if
    the operator is installed. An object with the annotation `pause` stays as it is; empty if nothing pauses it.
    """

    annotation: str = ""
    given: tuple[str, str] | None = None
    served: Kind | None = None
    pause: str = ""


Triggers = Mapping[tuple[str, str], Trigger]
"""By group and plural; the plural `*` stands for all kinds of a group."""
