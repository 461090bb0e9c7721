"""What an operator has to say about a write to its own kinds, before it happens.

On an embedded plane the server asks in process, on every replica that runs the operator, whether or not it leads there.
A server elsewhere does not ask: there an operator can only tell afterwards, by status, and hold what is deleted by a
finalizer. So whatever a guard refuses, the operator still has to bear.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from homeostat.objects.json import JsonObject

Guard = Callable[[str, JsonObject | None, JsonObject | None], Awaitable[None]]
"""`guard(operation, old, new)` raises the error of `objects/errors.py` that refuses CREATE, UPDATE or DELETE.

It reads by the client and not from caches, which may be behind, and writes nothing. Both objects are as they are to be
stored; `old` is None for what is created and `new` for what is deleted.
"""
