"""Contracts that were parsed and validated, so that a change of a workload does not repeat it.

A bundle may have large OpenAPI documents, and schemas whose work is not in proportion to their size: bundles are
validated in a thread, and so are large contracts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from homeostat.edge.threads import in_thread
from homeostat.operators.contracts.engine.checks.evaluate import Failure, Loaded, Prepared, prepare
from homeostat.operators.contracts.loading.content import Content, Version, read_inline
from homeostat.operators.contracts.spec import PactoSpec

_MOST_KEPT: Final = 4096
_LARGE_BYTES: Final = 32 << 10
_USER: Final = "contracts"


class Preparation(msgspec.Struct, frozen=True):
    prepared: Prepared
    version: Version | None = None


Overridden = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


class Preparations:
    """The newest of them; a test compares them with a new preparation."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str, Overridden], Preparation] = OrderedDict()

    async def inline(self, text: str, overridden: Overridden) -> Preparation:
        def load() -> Preparation:
            return _prepare(read_inline(text), overridden)

        return await self._get((text, "", overridden), load, is_large=len(text) > _LARGE_BYTES)

    async def bundle(self, content: Content, overridden: Overridden) -> Preparation:
        version, loaded = content.version, content.loaded
        if version is None or isinstance(loaded, Failure):
            return _prepare(content, overridden)
        key = (version.digest, version.ref, overridden)
        return await self._get(key, lambda: _prepare(content, overridden), is_large=True)

    async def _get(
        self, key: tuple[str, str, Overridden], load: Callable[[], Preparation], *, is_large: bool
    ) -> Preparation:
        found = self._kept.get(key)
        if found is None:
            found = await in_thread(load, user=_USER) if is_large else load()
            self._kept[key] = found
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return found


def overrides_of(spec: PactoSpec) -> Overridden:
    """Of two overrides of one configuration, the later one counts for a key that both have."""
    merged: dict[str, dict[str, str]] = {}
    for each in spec.overrides.configurations if spec.overrides is not None else ():
        merged.setdefault(each.name, {}).update(each.values)
    return tuple((name, tuple(values.items())) for name, values in merged.items())


def _prepare(content: Content, overridden: Overridden) -> Preparation:
    loaded: Loaded | Failure = content.loaded
    return Preparation(prepare(loaded, {name: dict(values) for name, values in overridden}), content.version)
