"""The settings of the operator, from environment variables: those of the original, and one of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REPOSITORIES: Final = "DECLAREST_OPERATOR_REPO_BASE_DIR"
CACHE: Final = "DECLAREST_OPERATOR_CACHE_BASE_DIR"
STORES: Final = "SYNC_SECRET_FILES"
NAMES: Final = (REPOSITORIES, CACHE, STORES)


@dataclass(frozen=True, slots=True)
class Settings:
    repositories: Path
    """The cache of Git repositories."""
    documents: Path
    """OpenAPI documents and metadata bundles. Servers, repositories and policies share no directory."""
    secret_files: Path | None = None
    """The directory of the files that a SecretStore can name; None for any file of the machine."""


def read_settings(environment: Mapping[str, str], directory: Path) -> Settings:
    """Raises `ValueError` for a path that is not absolute."""
    return Settings(
        _path(environment, REPOSITORIES) or directory / "git",
        (_path(environment, CACHE) or directory / "cache") / "servers",
        _path(environment, STORES),
    )


def _path(environment: Mapping[str, str], name: str) -> Path | None:
    text = environment.get(name, "").strip()
    if not text:
        return None
    if not text.startswith("/"):
        raise ValueError(f'{name} is "{text}"; expected an absolute path')
    return Path(text)
