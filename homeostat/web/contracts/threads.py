"""Computes with bundles: in a thread if they are large, since their authors decide how long it takes.

An inline contract of 700 kB takes 1.8 s to parse, and anybody who may create a Pacto can declare one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from homeostat.edge.threads import in_thread
from homeostat.operators.contracts.engine.bundle.bundle import Bundle

LARGE_BYTES: Final = 8 * 1024
T = TypeVar("T")


async def with_bytes(size: int, function: Callable[[], T], *, namespace: str) -> T:
    """The result of a function over so many bytes. Namespaces take turns in the threads."""
    return await in_thread(function, user=f"contracts:{namespace}") if size > LARGE_BYTES else function()


async def with_bundles(bundles: Iterable[Bundle | None], function: Callable[[], T], *, namespace: str = "") -> T:
    size = sum(len(data) for each in bundles if each is not None for data in each.files.values())
    return await with_bytes(size, function, namespace=namespace)
