"""Work on a large object, which must not hold up other requests: it is done in a thread, and pages show a part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from homeostat.edge.threads import in_thread
from homeostat.objects.json import Json, encode
from homeostat.web.dashboard.visit import Visit

LARGE_BYTES: Final = 20 * 1024
"""A larger object is dumped, read and compared in a thread, and its page does not reload itself."""
LARGEST_SHOWN: Final = 128 * 1024
"""Characters of an object that its page shows."""
_AROUND: Final = 4
"""Characters that YAML takes around a value."""

T = TypeVar("T")


def size_of(*values: Json) -> int:
    return sum(len(encode(each)) for each in values)


async def computed(visit: Visit, size: int, function: Callable[[], T], *, quick_bytes: int = LARGE_BYTES) -> T:
    """The result of a function that reads `size` bytes; of `quick_bytes` it is soon there."""
    if size <= quick_bytes:
        return function()
    return await in_thread(function, user=f"dashboard:{visit.caller.username}")


class Part:
    """The beginning of a value: as many fields and characters as a page shows."""

    def __init__(self, value: Json) -> None:
        self._left = LARGEST_SHOWN
        self.is_cut = False
        self.value = self._of(value)

    def _of(self, value: Json) -> Json:
        self._left -= _AROUND
        match value:
            case dict():
                return {name: self._of(each) for name, each in value.items() if self._takes(name)}
            case list():
                return [self._of(each) for each in value if self._takes("")]
            case str() if len(value) > self._left:
                self.is_cut, kept, self._left = True, max(self._left, 0), 0
                return f"{value[:kept]}…"
            case str():
                self._left -= len(value)
        return value

    def _takes(self, name: str) -> bool:
        self._left -= len(name)
        self.is_cut = self.is_cut or self._left <= 0
        return self._left > 0
