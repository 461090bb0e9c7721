"""Custom kinds: serves the kinds of a stored CustomResourceDefinition from the commit on that stores it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from msgspec.structs import replace

from homeostat.objects.crd.accepted import Decision, accept_names
from homeostat.objects.crd.definition import default_crd, validate_crd, validate_crd_update
from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject, decode_stored, encode
from homeostat.objects.schema.default import MOST_ADDED, ManyDefaultsError, apply_defaults
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.prune import prune, unknown_fields
from homeostat.objects.schema.schema import Schema
from homeostat.server.kinds.builtin import BuiltinBehaviour, text_at
from homeostat.server.kinds.registry import Behaviour, Claim, Kind, Registry, ScalePaths
from homeostat.server.request.too_long import TooLongError, is_offloaded
from homeostat.server.verbs.watch import Watches
from homeostat.store.base import Record, Scope, Store
from homeostat.store.follow import follow

if TYPE_CHECKING:
    from homeostat.objects.schema.rules.evaluate import Rules
    from homeostat.objects.schema.validate import Validator
    from homeostat.server.conversion.conversion import Conversion

log = logging.getLogger(__name__)
RESOURCE = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_ANYTHING: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SLOW_TO_COMPILE_BYTES = 16 * 1024
_SLOW_BYTES = 1024 * 1024
_QUICK_DEFAULTS = 10_000
"""The most values that defaults add on the event loop."""
_QUICK_STEPS = 20_000
"""The most steps of a validation on the event loop: some tens of milliseconds."""
_QUICK_COST = 30_000
"""The cost of rules that may run on the event loop: 3 to 6 ms, or 20 if they compare lists of lists."""

_VALIDATION, _RULES = "validation", "rules"
_imported: set[str] = set()
"""The engines whose import has ended. `sys.modules` has a module before, and whoever imports it then waits."""

Shipped = Callable[[str], JsonObject | None]
"""Returns the definition of this name that comes with the program, and is known to be valid."""


class CustomBehaviour:
    """The behaviour of one version of a custom kind; everything is compiled when first needed.

    The engines of schemas and of rules are imported then, too: an idle plane has no use for them. That takes some tens
    of milliseconds, so the first write of a custom kind is carried out in a thread.
    """

    claims_names = False

    def __init__(self, raw_schema: JsonObject, selectable: tuple[str, ...]) -> None:
        self._raw = raw_schema
        self.selectable_fields = frozenset(path.removeprefix(".") for path in selectable)
        self._is_compiled = False

    @property
    def is_slow(self) -> bool:
        return self._size >= _SLOW_BYTES or (not self._is_compiled and self._size >= _SLOW_TO_COMPILE_BYTES)

    @cached_property
    def _size(self) -> int:
        return len(encode(self._raw))

    @cached_property
    def schema(self) -> Schema:
        return schema_of(self._raw)

    @cached_property
    def _validator(self) -> Validator:
        from homeostat.objects.schema.validate import Validator

        _imported.add(_VALIDATION)
        return Validator(self.schema)

    @cached_property
    def _has_rules(self) -> bool:
        return b'"x-kubernetes-validations":' in encode(self._raw)

    @cached_property
    def _rules(self) -> Rules | None:
        if not self._has_rules:
            return None
        from homeostat.objects.schema.rules.evaluate import Rules

        _imported.add(_RULES)
        return Rules(self.schema)

    def release(self, writer: int) -> None:
        pass

    def type_errors(self, obj: JsonObject) -> list[Cause]:
        return []

    def unknown_fields(self, obj: JsonObject) -> list[str]:
        return unknown_fields(obj, self.schema)

    def prune(self, obj: JsonObject) -> list[str]:
        return prune(obj, self.schema)

    def default(self, obj: JsonObject) -> None:
        """`TooLongError` if there are so many defaults that adding them would block the event loop."""
        if is_offloaded():
            apply_defaults(obj, self.schema)
            return
        try:
            apply_defaults(obj, self.schema, most=_QUICK_DEFAULTS)
        except ManyDefaultsError as error:
            raise TooLongError from error

    def default_stored(self, obj: JsonObject) -> bool:
        try:
            apply_defaults(obj, self.schema, most=MOST_ADDED if is_offloaded() else _QUICK_DEFAULTS)
        except ManyDefaultsError:
            return False
        return True

    def prepare(self, obj: JsonObject, old: JsonObject | None, now: str, *, writer: int = 0) -> None:
        pass

    def prepare_deletion(self, obj: JsonObject, now: str) -> None:
        pass

    def check(self, obj: JsonObject) -> list[Cause]:
        is_large = self._is_offloaded(obj)
        return self._validator.check(obj, is_large=is_large)

    def check_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        is_large = self._is_offloaded(new)
        return self._validator.check_update(new, old, is_large=is_large)

    def _is_offloaded(self, obj: JsonObject) -> bool:
        """`TooLongError` if validating the object would block the event loop."""
        if is_offloaded():
            return True
        if _VALIDATION not in _imported or self._validator.cost_of(obj) > _QUICK_STEPS:
            raise TooLongError
        return False

    def warnings(self, obj: JsonObject, old: JsonObject | None) -> list[str]:
        return []

    def check_rules(self, new: JsonObject, old: JsonObject | None) -> list[Cause]:
        """`TooLongError` if the rules cost more than may run on the event loop."""
        if _RULES not in _imported and self._has_rules and not is_offloaded():
            raise TooLongError
        causes = [] if self._rules is None else self._check_rules(self._rules, new, old)
        self._is_compiled = True
        return causes

    def _check_rules(self, rules: Rules, new: JsonObject, old: JsonObject | None) -> list[Cause]:
        from homeostat.cel import Budget

        budget = Budget() if is_offloaded() else Budget(_QUICK_COST)
        causes = rules.check(new, old, budget)
        if budget.remaining <= 0 and not is_offloaded():
            raise TooLongError
        return causes

    def selectable(self, obj: JsonObject) -> dict[str, str]:
        return {name: text_at(obj, name) for name in self.selectable_fields}


def kinds_of(definition: JsonObject) -> list[Kind]:
    """The kinds of a definition; none until all its names were accepted once.

    The stored version of a terminating definition is served if no other is, so that its objects can be deleted.
    """
    if not _is_established(definition):
        return []
    versions = definition["spec"]["versions"]
    names = definition["status"]["acceptedNames"]
    stored = next(version for version in versions if version.get("storage"))
    served = [version for version in versions if version.get("served")]
    if not served and "deletionTimestamp" in definition["metadata"]:
        served = [stored]
    return [_kind(definition, version, names, stored["name"]) for version in served]


def _is_established(definition: JsonObject) -> bool:
    return _establishment(definition.get("status") or {}) is not None


def _establishment(status: JsonObject) -> JsonObject | None:
    """The condition Established, if it is True."""
    conditions = status.get("conditions") or ()
    wanted = ("Established", "True")
    return next((each for each in conditions if (each.get("type"), each.get("status")) == wanted), None)


def _kind(definition: JsonObject, version: JsonObject, names: JsonObject, storage: str) -> Kind:
    spec = definition["spec"]
    raw = _raw_schema(version)
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    return Kind(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular", ""),
        list_kind=names.get("listKind", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        has_status="status" in subresources,
        has_generation=True,
        scale=scale
        and ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", "")),
        custom=True,
        unconditional_update=False,
        storage_version=storage,
        behaviour=CustomBehaviour(raw, tuple(each["jsonPath"] for each in version.get("selectableFields") or ())),
        raw_schema=raw,
        printer_columns=tuple(version.get("additionalPrinterColumns") or ()),
        deprecation=_deprecation(spec["group"], version, names["kind"]),
        is_terminating="deletionTimestamp" in definition["metadata"],
    )


def _raw_schema(version: JsonObject) -> JsonObject:
    raw: JsonObject = (version.get("schema") or {}).get("openAPIV3Schema") or _ANYTHING
    return raw


def _deprecation(group: str, version: JsonObject, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    return str(version.get("deprecationWarning") or f"{group}/{version['name']} {kind} is deprecated")


def _stored_behaviour(definition: JsonObject, kinds: Iterable[Kind]) -> CustomBehaviour | None:
    """The behaviour of the stored version, if it has defaults."""
    version = next(each for each in definition["spec"]["versions"] if each.get("storage"))
    raw = _raw_schema(version)
    if b'"default":' not in encode(raw):
        return None
    served = next((each.behaviour for each in kinds if each.version == version["name"]), None)
    return served if isinstance(served, CustomBehaviour) else CustomBehaviour(raw, ())


def conversion_of(spec: JsonObject, kinds: Sequence[Kind], defaults_before: int) -> Conversion:
    """The conversion that a definition asks for."""
    from homeostat.server.admission.webhooks.client import endpoint_of
    from homeostat.server.conversion.conversion import Conversion
    from homeostat.server.conversion.review import review_version

    webhook = spec["conversion"]["webhook"] if _is_by_webhook(spec) else None
    served = {each.version: each.behaviour for each in kinds}
    behaviours: dict[str, CustomBehaviour] = {}
    for version in spec["versions"]:
        behaviour = served.get(version["name"])
        known = behaviour if isinstance(behaviour, CustomBehaviour) else CustomBehaviour(_raw_schema(version), ())
        behaviours[f"{spec['group']}/{version['name']}"] = known
    return Conversion(
        endpoint=None if webhook is None else endpoint_of(webhook["clientConfig"]),
        review_version="" if webhook is None else review_version(webhook["conversionReviewVersions"]),
        kind=kinds[0].kind,
        stored=kinds[0].stored_api_version,
        behaviours=behaviours,
        defaults_before=defaults_before,
    )


def _is_by_webhook(spec: JsonObject) -> bool:
    return (spec.get("conversion") or {}).get("strategy") == "Webhook"


def _do_schemas_differ(spec: JsonObject) -> bool:
    schemas = [_raw_schema(version) for version in spec["versions"]]
    return any(each != schemas[0] for each in schemas)


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
            log.exception("the definition cannot be served", extra={"definition": record.key.name})

    def _put(self, record: Record) -> None:
        definition = decode_stored(record.value)
        kinds = kinds_of(definition)
        conversion = self._conversion(definition, kinds, record.revision)
        if conversion is not None:
            kinds = [replace(each, conversion=conversion) for each in kinds]
        elif kinds and (stored := _stored_behaviour(definition, kinds)) is not None:
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
        if kinds and len(spec["versions"]) > 1 and (_is_by_webhook(spec) or _do_schemas_differ(spec)):
            has_defaults = any(b'"default":' in encode(_raw_schema(each)) for each in spec["versions"])
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


class DefinitionBehaviour(BuiltinBehaviour):
    """The behaviour of CustomResourceDefinitions: validated as in Kubernetes, with their names accepted on write."""

    claims_names = True

    def __init__(self, registry: Registry, shipped: Shipped) -> None:
        super().__init__("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
        self.is_slow = True
        self._registry, self._shipped = registry, shipped
        self._claiming = Lock()
        """Definitions are prepared in threads, and two may want the same name."""

    def default(self, obj: JsonObject) -> None:
        default_crd(obj)

    def check(self, obj: JsonObject) -> list[Cause]:
        return validate_crd(obj, self._shipped(str(obj["metadata"].get("name"))))

    def check_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return validate_crd_update(new, old)

    def prepare(self, obj: JsonObject, old: JsonObject | None, now: str, *, writer: int = 0) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict) or not isinstance(spec.get("names"), dict):
            return
        if old is None:
            finalizers = obj["metadata"].setdefault("finalizers", [])
            if CLEANUP_FINALIZER not in finalizers:
                finalizers.append(CLEANUP_FINALIZER)
        status = dict(obj.get("status") or {})
        stored = (old or {}).get("status") or {}
        name = obj["metadata"].get("name", "")
        decision = self._claim(name, spec, stored.get("acceptedNames") or {}, writer)
        status["acceptedNames"] = decision.names
        decided = _name_conditions(decision, stored)
        status["conditions"] = _merge_conditions(status.get("conditions") or (), decided, now)
        status["storedVersions"] = _stored_versions(status.get("storedVersions") or (), spec.get("versions"))
        obj["status"] = status

    def prepare_deletion(self, obj: JsonObject, now: str) -> None:
        status = obj.setdefault("status", {})
        terminating = {
            "type": "Terminating",
            "status": "True",
            "reason": "InstanceDeletionPending",
            "message": "CustomResource deletion is pending",
        }
        status["conditions"] = _merge_conditions(status.get("conditions") or (), (terminating,), now)

    def release(self, writer: int) -> None:
        with self._claiming:
            self._registry.claiming.pop(writer, None)

    def _claim(self, name: str, spec: JsonObject, former: JsonObject, writer: int) -> Decision:
        """Accept the names that nobody else has, and keep others from claiming them until the write has ended."""
        group = spec.get("group", "")
        with self._claiming:
            claims = [*dict(self._registry.claims).items(), *self._registry.claiming.values()]
            others = [each.names for own, each in claims if own != name and each.group == group]
            others += [_names_of(each) for each in self._registry.all() if each.group == group and not each.custom]
            decision = accept_names(spec["names"], former, others)
            self._registry.claiming[writer] = (name, Claim(group, decision.names))
        return decision


def _names_of(kind: Kind) -> JsonObject:
    return {
        "plural": kind.plural,
        "singular": kind.singular,
        "shortNames": list(kind.short_names),
        "kind": kind.kind,
        "listKind": kind.list_kind,
    }


def _name_conditions(decision: Decision, stored: JsonObject) -> tuple[JsonObject, ...]:
    """A definition that is established stays so, with the names that it has, whatever names it wants later."""
    if not decision.reason:
        return (
            {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"},
            {
                "type": "Established",
                "status": "True",
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        )
    pending = {
        "type": "Established",
        "status": "False",
        "reason": "NotAccepted",
        "message": "not all names are accepted",
    }
    return (
        {"type": "NamesAccepted", "status": "False", "reason": decision.reason, "message": decision.message},
        _establishment(stored) or pending,
    )


def _merge_conditions(current: object, new: tuple[JsonObject, ...], now: str) -> list[JsonObject]:
    """Conditions by type, and those without one; the transition time moves with the status."""
    found = [each for each in current if isinstance(each, dict)]  # type: ignore[attr-defined]
    merged = {each.get("type") or index: each for index, each in enumerate(found)}
    for each in new:
        former = merged.get(each["type"])
        is_same = former is not None and former.get("status") == each["status"]
        changed_at = former["lastTransitionTime"] if former and is_same and "lastTransitionTime" in former else now
        merged[each["type"]] = {"lastTransitionTime": changed_at, **each}
    return list(merged.values())


def _stored_versions(stored: object, versions: object) -> list[str]:
    names = [each for each in stored if isinstance(each, str)]  # type: ignore[attr-defined]
    for version in versions if isinstance(versions, list) else ():
        if isinstance(version, dict) and version.get("storage") is True and version.get("name") not in names:
            names.append(version.get("name", ""))
    return names


def builtin_behaviours(registry: Registry, shipped: Shipped = lambda _: None) -> Callable[[str, str, str], Behaviour]:
    """The behaviour of each built-in kind, for `builtin_kinds`."""

    def behaviour_of(group: str, version: str, kind: str) -> Behaviour:
        if kind == "CustomResourceDefinition":
            return DefinitionBehaviour(registry, shipped)
        return BuiltinBehaviour(group, version, kind)

    return behaviour_of
