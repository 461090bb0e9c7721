"""A kind whose objects an operator computes when a client of an embedded plane reads them.

They are not stored, and have neither watches nor writes. A cluster has an aggregated API server for such a kind.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from homeostat.objects.json import JsonObject

Read = Callable[[str], Awaitable[list[JsonObject]]]
"""All objects of a namespace, or of all namespaces if it is empty."""


class Computed(NamedTuple):
    read: Read
    schema: JsonObject
    """In OpenAPI, for `kubectl explain`."""
