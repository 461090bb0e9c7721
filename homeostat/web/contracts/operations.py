"""What each operation of the API takes and answers, for its OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from homeostat.operators.contracts.engine.diff.change import Change, Classification
from homeostat.operators.contracts.engine.services.catalogue import Listed
from homeostat.operators.contracts.engine.services.history import Recorded
from homeostat.operators.contracts.engine.services.relations import CrossReference, Dependent, GraphNode
from homeostat.web.contracts.pages.comparison import DiffQuery
from homeostat.web.contracts.pages.registry import ResolveForm, VersionsForm
from homeostat.web.contracts.pages.services import ServiceQuery
from homeostat.web.kit.openapi.document import Operation
from homeostat.web.kit.routing import Route

_READ: Final = "list pactos, in all namespaces or in those of the services"
_CREATE: Final = "create pactos"


class Health(msgspec.Struct):
    status: str
    version: str


class Counts(msgspec.Struct, rename="camel"):
    service_count: int
    source_count: int


class SourceState(msgspec.Struct):
    type: str
    enabled: bool
    reason: str


class Sources(msgspec.Struct):
    sources: list[SourceState]
    discovering: bool


class Refreshed(msgspec.Struct):
    status: str
    refreshed: bool


class Versions(msgspec.Struct):
    versions: list[str]
    fetched: int


class GlobalGraph(msgspec.Struct):
    nodes: list[GraphNode]


class References(msgspec.Struct, rename="camel"):
    references: list[CrossReference]
    referenced_by: list[CrossReference]


class Side(msgspec.Struct):
    name: str
    version: str
    source: str


class DiffResult(msgspec.Struct, rename={"old": "from", "new": "to"}):
    old: Side
    new: Side
    classification: Classification
    changes: list[Change]


_Details = dict[str, Any]
_ONE: Final = "/api/services/{name}"

OPERATIONS: Final[Mapping[Route, Operation]] = {
    ("GET", "/health"): Operation("Health of this server", "anyone", Health),
    ("GET", "/metrics"): Operation("The number of services and sources", _READ, Counts),
    ("GET", "/api/services"): Operation("List services", _READ, list[Listed], query=ServiceQuery, refusals=(422,)),
    ("GET", _ONE): Operation("Details of a service", _READ, _Details, query=ServiceQuery, refusals=(404, 422)),
    ("GET", f"{_ONE}/versions"): Operation("List the versions of a service", _READ, list[Recorded]),
    ("GET", f"{_ONE}/versions/{{version}}"): Operation("A version of a service", _READ, _Details, refusals=(404, 422)),
    ("GET", f"{_ONE}/sources"): Operation("A service as each source has it", _READ, _Details, refusals=(404,)),
    ("GET", f"{_ONE}/graph"): Operation("The dependencies of a service as a tree", _READ, _Details, refusals=(404,)),
    ("GET", f"{_ONE}/dependents"): Operation("List the services that depend on a service", _READ, list[Dependent]),
    ("GET", f"{_ONE}/refs"): Operation("References of configurations and policies", _READ, References),
    ("GET", "/api/graph"): Operation("The graph of all services", _READ, GlobalGraph),
    ("GET", "/api/diff"): Operation("Compare two versions", _READ, DiffResult, query=DiffQuery, refusals=(404, 422)),
    ("GET", "/api/sources"): Operation("Where services come from", _READ, Sources),
    ("POST", "/api/refresh"): Operation("Ask the registries again", _READ, Refreshed),
    ("POST", "/api/resolve"): Operation(
        "Read a bundle of a registry",
        _CREATE,
        _Details,
        body=ResolveForm,
        refusals=(404, 422),
        example={"ref": "registry.example.org/contracts/ledger", "compatibility": "^1.0.0"},
    ),
    ("POST", "/api/versions"): Operation(
        "List the versions of a repository",
        _CREATE,
        Versions,
        body=VersionsForm,
        refusals=(404, 422),
        example={"ref": "registry.example.org/contracts/ledger", "fetch": True},
    ),
}
