"""Where secrets are kept: the protocol that the file store and Vault have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class SecretStore(Protocol):
    """Keys are in normal form; `NotFoundError` for one that is missing."""

    async def open(self) -> None:
        """Create it where it does not exist."""
        ...

    async def check(self) -> None:
        """Raise the engine's error if it cannot be opened. Creates nothing."""
        ...

    async def get(self, key: str) -> str: ...
    async def put(self, secrets: Mapping[str, str]) -> None:
        """Store all of these, in one write where the store allows it."""
        ...

    async def delete(self, key: str) -> None: ...
    async def keys(self) -> list[str]: ...
    async def close(self) -> None: ...
