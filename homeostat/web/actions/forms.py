"""The bodies and queries that callers send about types and resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict

from homeostat.web.actions.face import check_size
from homeostat.web.kit.form import Name
from homeostat.web.kit.refusal import unprocessable

_Title = Annotated[str, Meta(min_length=1, max_length=63)]
_Plugin = Annotated[str, Meta(max_length=253)]
_Page = Annotated[int, Meta(ge=1)]
_Fields = Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=253)], ...], Meta(max_length=100)]
LARGEST_PAGE = 1000
LARGEST_PAGE_BYTES = 4 << 20


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """A resource. A null field counts as absent."""

    name: Name
    resource_type_name: _Title
    resource_type_version: _Title
    action_plugin: _Plugin | None = None
    spec: dict[str, Any] | None = None
    plugin_config: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None

    def check_sizes(self) -> None:
        for part in ("spec", "plugin_config", "metadata"):
            check_size(part, getattr(self, part))


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    spec: dict[str, Any] | None = None
    plugin_config: dict[str, Any] | None = None


class Applied(Changed, frozen=True, kw_only=True):
    action_plugin: _Plugin | None = None
    metadata: dict[str, Any] | None = None


class Finalizers(msgspec.Struct, frozen=True):
    add: list[Annotated[str, Meta(min_length=1, max_length=253)]] = []
    remove: list[str] = []


class NewType(msgspec.Struct, frozen=True, kw_only=True):
    name: _Title
    version: _Title
    schema: dict[str, Any]
    description: Annotated[str, Meta(max_length=4096)] | None = None
    metadata: dict[str, Any] | None = None
    status: str | None = None
    action_plugin: _Plugin | None = None
    plugin_config: dict[str, Any] | None = None
    resource_fields: _Fields | None = None


class ChangedType(msgspec.Struct, frozen=True, kw_only=True):
    schema: dict[str, Any] | None = None
    description: Annotated[str, Meta(max_length=4096)] | None = None
    metadata: dict[str, Any] | None = None
    status: str | None = None
    action_plugin: _Plugin | None = None
    plugin_config: dict[str, Any] | None = None
    resource_fields: _Fields | UnsetType | None = UNSET


class TypeQuery(msgspec.Struct, frozen=True):
    name: str = ""
    status: str = ""
    limit: _Page = 100
    after: str = ""


class ResourceQuery(msgspec.Struct, frozen=True):
    status: str = ""
    action_plugin: str = ""
    resource_type_name: str = ""
    resource_type_version: str = ""
    limit: _Page = 100
    after: Annotated[int, Meta(ge=0)] = 0


class HistoryQuery(msgspec.Struct, frozen=True):
    limit: _Page = 10
    after: Annotated[int, Meta(ge=0)] = 0


class Forcing(msgspec.Struct, frozen=True):
    force: bool = False


def read_applied(captured: Mapping[str, str], form: Applied) -> Declaration:
    """Completes the form with the path, and validates the name as in a body."""
    message = {"name": "name", "type": "resource_type_name", "version": "resource_type_version"}
    whole = {**asdict(form), **{field: captured[name] for name, field in message.items()}}
    try:
        wanted = msgspec.convert(whole, Declaration)
    except msgspec.ValidationError as error:
        raise unprocessable(("path",), str(error)) from error
    wanted.check_sizes()
    return wanted
