"""A guard: an admission check of an operator for writes to its own kinds.

An embedded plane calls it in process, on every replica that runs the operator, leader or not. Other servers do not call
it: there an operator can only report problems in the status, and delay deletion with a finalizer. So the operator has
to handle objects that its guard would have refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from homeostat.objects.json import JsonObject

Guard = Callable[[str, JsonObject | None, JsonObject | None], Awaitable[None]]
"""`guard(operation, old, new)` raises the error of `objects/errors.py` that refuses CREATE, UPDATE or DELETE.

It reads with the client and not from caches, which may be stale, and writes nothing. `new` is the object as it will be
stored, None for a DELETE; `old` is the stored object, None for a CREATE.
"""
