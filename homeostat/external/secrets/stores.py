"""Secret stores: environment variables and files. Further ones are Kubernetes Secrets (`kubernetes.py`) and a Vault
(`external/vault/client.py`); `external/process_stores.py` opens those that are configured.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from homeostat.external.secrets.credentials import LARGEST_SECRET

ENV_PREFIX: Final = "HOMEOSTAT_SECRET_"


class SecretStore(Protocol):
    async def get_secret(self, key: str) -> str:
        """`KeyError` if there is none, or if it is empty."""


class EnvironmentStore:
    """The variables of the operator's environment whose names begin with the prefix."""

    def __init__(self, environment: Mapping[str, str], prefix: str = ENV_PREFIX) -> None:
        self._environment, self._prefix = environment, prefix

    async def get_secret(self, key: str) -> str:
        return self._environment[f"{self._prefix}{key}"]


class FileStore:
    """Files below one directory, as Kubernetes mounts Secrets. One newline at the end is removed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()

    async def get_secret(self, key: str) -> str:
        try:
            path = (self._directory / key).resolve()
            if path.is_relative_to(self._directory) and path.is_file() and path.stat().st_size <= LARGEST_SECRET:
                return path.read_text().removesuffix("\n")
        except (OSError, ValueError):
            # An invalid file name, an unreadable file, or one that is not text.
            raise KeyError(key) from None
        raise KeyError(key)
