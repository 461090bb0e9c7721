"""The settings of the API, from the environment variables of the original."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from homeostat.external.environment import switch
from homeostat.operators.contracts.engine.reference import InvalidReferenceError, parse_oci, registry_reference

NAMESPACE: Final = "PACTO_DASHBOARD_NAMESPACE"
REPOSITORIES: Final = "PACTO_DASHBOARD_REPO"
DIAGNOSTICS: Final = "PACTO_DASHBOARD_DIAGNOSTICS"
CORS_ORIGIN: Final = "PACTO_DASHBOARD_CORS_ORIGIN"
CACHE_DIRECTORY: Final = "PACTO_CACHE_DIR"
NO_CACHE: Final = "PACTO_NO_CACHE"
NAMES: Final = (NAMESPACE, REPOSITORIES, DIAGNOSTICS, CORS_ORIGIN, CACHE_DIRECTORY, NO_CACHE)
MOST_REPOSITORIES: Final = 100
_is_origin = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?").fullmatch
_is_namespace = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?").fullmatch


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str = ""
    """The only namespace that is shown; empty for all."""
    repositories: tuple[str, ...] = ()
    """Repositories whose contracts are shown although no Pacto binds them."""
    has_diagnostics: bool = False
    cors_origin: str = ""
    """The only other origin whose pages may call this API."""
    cache: Path | None = None
    """Where bundles are kept on disk; None to fetch them again after a restart."""
    reads_cache: bool = True


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Raises `ValueError` for an invalid setting."""
    return Settings(
        namespace=_namespace(environment.get(NAMESPACE, "").strip()),
        repositories=_repositories(environment.get(REPOSITORIES, "")),
        has_diagnostics=switch(environment, DIAGNOSTICS),
        cors_origin=_origin(environment.get(CORS_ORIGIN, "").strip()),
        cache=_directory(environment.get(CACHE_DIRECTORY, "").strip()),
        reads_cache=not switch(environment, NO_CACHE),
    )


def check_settings(environment: Mapping[str, str]) -> None:
    read_settings(environment)


def _directory(text: str) -> Path | None:
    if text and not Path(text).is_absolute():
        raise ValueError(f'{CACHE_DIRECTORY} is "{text}"; expected an absolute path')
    return Path(text) if text else None


def _namespace(text: str) -> str:
    if text and not _is_namespace(text):
        raise ValueError(f'{NAMESPACE} is "{text}"; expected the name of a namespace')
    return text


def _repositories(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if len(found) > MOST_REPOSITORIES:
        raise ValueError(f"{REPOSITORIES} lists {len(found)} repositories; at most {MOST_REPOSITORIES} are allowed")
    for each in found:
        try:
            parse_oci(registry_reference(each))
        except InvalidReferenceError as error:
            raise ValueError(f"{REPOSITORIES}: {error}") from error
    return found


def _origin(text: str) -> str:
    if text and not _is_origin(text):
        raise ValueError(f'{CORS_ORIGIN} is "{text}"; expected one origin such as https://portal.example.org')
    return text.lower()
