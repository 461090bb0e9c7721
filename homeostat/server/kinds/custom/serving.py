"""Serves the kinds of a stored CustomResourceDefinition from the commit on that stores it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec.structs import replace

from homeostat.objects.json import JsonObject, decode_stored, encode
from homeostat.server.kinds.custom.kinds import kinds_of, raw_schema
from homeostat.server.kinds.custom.versions import conversion_of, do_schemas_differ, is_by_webhook, stored_behaviour
from homeostat.server.kinds.registry import Claim, Kind, Registry
from homeostat.server.verbs.watch import Watches
from homeostat.store.base import Record, Scope, Store
from homeostat.store.follow import follow

if TYPE_CHECKING:
    from homeostat.server.conversion.conversion import Conversion

log = logging.getLogger(__name__)
RESOURCE = "customresourcedefinitions.apiextensions.k8s.io"


class Definitions:
    """Updates the registry when definitions change."""

    def __init__(self, registry: Registry, watches: Watches) -> None:
        self._registry = registry
        self._watches = watches
        self._served: dict[str, list[Kind]] = {}
        self._conversions: dict[str, tuple[JsonObject, Conversion | None]] = {}
        """The conversions of definitions, with the spec that each was made from."""
        self._store: Store | None = None

    async def follow(self, store: Store) -> None:
        self._store = store
        await follow(store, Scope(RESOURCE), put=self._try_put, drop=lambda record: self._remove(record.key.name))

    def _try_put(self, record: Record) -> None:
        """A definition that cannot be served must keep neither the others nor the plane from being served."""
        try:
            self._put(record)
        except Exception:
            log.exception("failed to serve definition", extra={"definition": record.key.name})

    def _put(self, record: Record) -> None:
        definition = decode_stored(record.value)
        kinds = kinds_of(definition)
        conversion = self._conversion(definition, kinds, record.revision)
        if conversion is not None:
            kinds = [replace(each, conversion=conversion) for each in kinds]
        elif kinds and (stored := stored_behaviour(definition, kinds)) is not None:
            before = self._defaults_before(record.revision, kinds[0].resource)
            if before:
                kinds = [replace(each, defaults_before=before, default_stored=stored.default_stored) for each in kinds]
        names = (definition.get("status") or {}).get("acceptedNames") or {}
        self._registry.claims[record.key.name] = Claim(definition["spec"]["group"], names)
        self._registry.remove(self._served.get(record.key.name, ()))
        self._registry.add(kinds)
        self._served[record.key.name] = kinds

    def _conversion(self, definition: JsonObject, kinds: list[Kind], revision: int) -> Conversion | None:
        """The conversion of the kinds. It stays the same value while the spec does; otherwise their watches end."""
        name, spec = definition["metadata"]["name"], definition["spec"]
        former_spec, former = self._conversions.get(name, (None, None))
        if kinds and former_spec == spec:
            return former
        conversion = None
        if kinds and len(spec["versions"]) > 1 and (is_by_webhook(spec) or do_schemas_differ(spec)):
            has_defaults = any(b'"default":' in encode(raw_schema(each)) for each in spec["versions"])
            before = self._defaults_before(revision, kinds[0].resource) if has_defaults else 0
            conversion = conversion_of(spec, kinds, before)
        if not kinds:
            # A terminating definition may be served again.
            self._conversions.pop(name, None)
        elif former is not None or conversion is not None:
            self._conversions[name] = (spec, conversion)
        if former is not None or conversion is not None:
            self._watches.close(f"{spec['names']['plural']}.{spec['group']}")
        return conversion

    def _defaults_before(self, revision: int, resource: str) -> int:
        """Defaults may have been added after objects were stored."""
        assert self._store is not None
        is_any_older = any(each.revision < revision for each in self._store.select(Scope(resource)))
        return revision if is_any_older else 0

    def _remove(self, name: str) -> None:
        self._registry.claims.pop(name, None)
        self._conversions.pop(name, None)
        for kind in self._served.pop(name, ()):
            self._registry.remove([kind])
            self._watches.close(kind.resource)
