"""Imports a large library at its first use, in a thread: it takes a tenth of a second and more.

`sys.modules` has a module before it is complete, and whoever imports it then waits for its lock. So everybody waits in
a thread until one import has ended.
"""

from __future__ import annotations

import asyncio
from importlib import import_module

_complete: set[str] = set()


def is_imported(name: str) -> bool:
    """Whether `import_in_thread` has imported it. Cheap enough for every request."""
    return name in _complete


async def import_in_thread(name: str) -> None:
    """Afterwards, importing the module takes no time."""
    if name not in _complete:
        await asyncio.to_thread(import_module, name)
        _complete.add(name)
