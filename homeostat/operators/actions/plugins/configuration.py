"""What action plugins and input plugins have in common: `Plugin` and `Source` say what differs.

One instance of a plugin serves all resources or inputs and stores nothing of any: what belongs to one is in its job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.secrets import Secrets

C = TypeVar("C", bound=msgspec.Struct)
C_co = TypeVar("C_co", bound=msgspec.Struct, covariant=True)


class PluginError(Exception):
    """`reason` is one CamelCase word; the message is for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclass(frozen=True, slots=True)
class Tools:
    """What a plugin is constructed with: the outbound HTTP client, and the environment of the operator."""

    http: RestClient
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyJob(Generic[C]):
    """A call of a plugin for one object. `directory` belongs to the object, on this machine; it may be empty or out of
    date, because another machine may have worked on the object meanwhile.
    """

    namespace: str
    name: str
    config: C
    secrets: Secrets
    directory: Path


class AnyPlugin(Protocol[C_co]):
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def config(self) -> type[C_co]: ...
