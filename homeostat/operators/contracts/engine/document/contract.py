"""A contract as a typed value, for every version of the format. Pure.

An omitted field has the empty value of its type, or None where absent and zero differ. A `Contract` may be invalid: the
schema and the rules check it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

V1_0: Final = "1.0"
V1_1: Final = "1.1"
V1_2: Final = "1.2"
VERSIONS: Final = (V1_0, V1_1, V1_2)


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Contact(_Part, frozen=True, kw_only=True):
    type: str = ""
    value: str = ""
    purpose: str = ""


class Owner(_Part, frozen=True, kw_only=True):
    team: str = ""
    dri: str = ""
    contacts: tuple[Contact, ...] = ()

    @property
    def display(self) -> str:
        return self.team or self.dri


class Image(_Part, frozen=True, kw_only=True):
    ref: str = ""
    private: bool = False


class Chart(_Part, frozen=True, kw_only=True):
    ref: str = ""
    version: str = ""


class Service(_Part, frozen=True, kw_only=True):
    name: str = ""
    version: str = ""
    owner: Owner | str | None = None
    """A text up to 1.1, kept as it was written."""
    image: Image | None = None
    chart: Chart | None = None

    @property
    def owner_display(self) -> str:
        return self.owner.display if isinstance(self.owner, Owner) else self.owner or ""


class Interface(_Part, frozen=True, kw_only=True):
    name: str = ""
    type: str = ""
    port: int | None = None
    visibility: str = ""
    contract: str = ""


class Configuration(_Part, frozen=True, kw_only=True):
    name: str = ""
    schema: str = ""
    ref: str = ""
    values: dict[str, Any] | None = None


class Policy(_Part, frozen=True, kw_only=True):
    name: str = ""
    schema: str = ""
    ref: str = ""


class Dependency(_Part, frozen=True, kw_only=True):
    name: str = ""
    ref: str = ""
    required: bool = False
    compatibility: str = ""


class Persistence(_Part, frozen=True, kw_only=True):
    scope: str = ""
    durability: str = ""


class State(_Part, frozen=True, kw_only=True):
    type: str = ""
    persistence: Persistence = Persistence()
    data_criticality: str = ""


class Lifecycle(_Part, frozen=True, kw_only=True):
    upgrade_strategy: str = ""
    graceful_shutdown_seconds: int | None = None


class Health(_Part, frozen=True, kw_only=True):
    interface: str = ""
    path: str = ""
    initial_delay_seconds: int | None = None


class Metrics(_Part, frozen=True, kw_only=True):
    interface: str = ""
    path: str = ""


class Runtime(_Part, frozen=True, kw_only=True):
    workload: str = ""
    state: State = State()
    lifecycle: Lifecycle | None = None
    health: Health | None = None
    metrics: Metrics | None = None


class Scaling(_Part, frozen=True, kw_only=True):
    replicas: int | None = None
    min: int = 0
    max: int = 0
    """Both are `replicas` where that is given."""


class Revision(_Part, frozen=True, kw_only=True):
    date: str = ""
    version: str = ""
    author: str = ""
    description: str = ""


class Check(_Part, frozen=True, kw_only=True):
    """One check of readiness: 1.1 gives each an expiry date, 1.2 a declared status."""

    id: str = ""
    type: str = ""
    category: str = ""
    status: str = ""
    evidence: str = ""
    weight: int = 0
    expires: str = ""
    description: str = ""


class Readiness(_Part, frozen=True, kw_only=True):
    min_score: int | None = None
    expires: str = ""
    partial_credit: float | None = None
    history: tuple[Revision, ...] = ()
    checks: tuple[Check, ...] = ()


class Contract(_Part, frozen=True, kw_only=True):
    pacto_version: str = ""
    service: Service = Service()
    interfaces: tuple[Interface, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    policies: tuple[Policy, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    runtime: Runtime | None = None
    scaling: Scaling | None = None
    readiness: Readiness | None = None
    metadata: dict[str, Any] | None = None

    def interface(self, name: str) -> Interface | None:
        return next((each for each in self.interfaces if each.name == name), None)
