"""The settings of the operator, from environment variables of the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REPOSITORIES: Final = "DECLAREST_OPERATOR_REPO_BASE_DIR"
CACHE: Final = "DECLAREST_OPERATOR_CACHE_BASE_DIR"
NAMES: Final = (REPOSITORIES, CACHE)


@dataclass(frozen=True, slots=True)
class Settings:
    repositories: Path
    """The cache of Git repositories."""
    documents: Path
    """OpenAPI documents and metadata bundles. Servers, repositories and policies share no directory."""


def read_settings(environment: Mapping[str, str], directory: Path) -> Settings:
    """Raises `ValueError` for a path that is not absolute."""
    return Settings(
        _path(environment, REPOSITORIES, directory / "git"), _path(environment, CACHE, directory / "cache") / "servers"
    )


def _path(environment: Mapping[str, str], name: str, usual: Path) -> Path:
    text = environment.get(name, "").strip()
    if not text:
        return usual
    if not text.startswith("/"):
        raise ValueError(f'{name} is "{text}"; expected an absolute path')
    return Path(text)
