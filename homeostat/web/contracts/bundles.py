"""The bundles of services: which bundle a Pacto or one of its revisions has, and how errors are answered."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from homeostat.objects.json import JsonObject, decode_stored
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.files import CONTRACT_FILE
from homeostat.operators.contracts.engine.reference import parse_parts, registry_reference
from homeostat.operators.contracts.engine.services.catalogue import Catalogue, Service
from homeostat.operators.contracts.engine.services.details import Context, bundle_details, service_details
from homeostat.operators.contracts.engine.services.history import (
    Recorded,
    classify_versions,
    find_version,
    merge_versions,
)
from homeostat.operators.contracts.engine.services.instance import Instance
from homeostat.operators.contracts.engine.validate import load
from homeostat.operators.contracts.live.trust import Trust
from homeostat.operators.contracts.sources.errors import (
    AuthenticationError,
    InvalidBundleError,
    InvalidKeyError,
    InvalidRefError,
    NoMatchingVersionError,
    NotFoundError,
    SourceError,
    UntrustedError,
)
from homeostat.operators.contracts.spec import KeyRef
from homeostat.web.contracts.index import ServiceIndex
from homeostat.web.contracts.library import Library, Wanted
from homeostat.web.contracts.threads import LARGE_BYTES, with_bundles, with_bytes
from homeostat.web.kit.refusal import RefusalError, unknown

_CODES: tuple[tuple[tuple[type[SourceError], ...], int], ...] = (
    ((InvalidRefError, NoMatchingVersionError, InvalidBundleError, UntrustedError, InvalidKeyError), 422),
    ((AuthenticationError,), 403),
    ((NotFoundError,), 404),
)


def refusal_of(error: SourceError) -> RefusalError:
    code = next((code for types, code in _CODES if isinstance(error, types)), 502)
    return RefusalError(code, str(error))


class Trusts(Protocol):
    async def __call__(self, namespace: str, ref: KeyRef) -> Trust:
        """The keys that a Pacto trusts. Raises `SourceError`."""


class Bundles:
    def __init__(self, index: ServiceIndex, library: Library, trusts: Trusts) -> None:
        self._index, self._library, self._trusts = index, library, trusts

    async def details(self, catalogue: Catalogue, instance: Instance, now: datetime) -> JsonObject:
        """Of a service as it is. Without its bundle, what the status has."""
        bundle, problem = await self._current(instance)
        return await self._shown(catalogue, instance, Context(now=now, bundle=bundle, problem=problem))

    async def details_of_cluster(self, catalogue: Catalogue, instance: Instance, now: datetime) -> JsonObject:
        """What the cluster alone knows."""
        return await self._shown(catalogue, instance, Context(now=now, problem="not read"))

    async def details_of_registry(self, instance: Instance, now: datetime) -> JsonObject | None:
        """What the registry alone knows; None if it has nothing, or cannot be reached."""
        bundle, _ = await self._current(instance)
        if bundle is None or not instance.oci:
            return None
        return await pulled_details(bundle, ref=instance.resolved_ref or instance.oci, now=now)

    async def versions(self, service: Service) -> list[Recorded]:
        """Those that the cluster recorded, and those of the registry if it can be reached; newest first."""
        first = service.primary
        recorded = [each.recorded() for key in service.instances for each in self._index.revisions(key)]
        merged = merge_versions(recorded, await self._tagged(first), current=first.version)
        if not any(each.is_current for each in merged) and first.version:
            current = Recorded(version=first.version, ref=first.resolved_ref, is_current=True, is_inline=not first.oci)
            merged = merge_versions([*merged, current], {}, current=first.version)
        try:
            trust = await self._trust(first)
        except SourceError:
            # The versions are there all the same, without their classification.
            return merged
        bundles = [await self._held(first, each, trust) for each in merged]
        return await with_bundles(bundles, lambda: classify_versions(merged, bundles), namespace=first.namespace)

    async def bundle_of(self, service: Service, version: str) -> tuple[Bundle, Recorded]:
        """The bundle of a version; of the current one for an empty version. Raises `RefusalError`."""
        first = service.primary
        if not version and not first.version:
            raise unknown(f'the contract of the service "{service.name}" could not be loaded; name a version')
        versions = await self.versions(service)
        found = find_version(versions, version or first.version)
        if found is None:
            raise unknown(f'the service "{service.name}" has no version "{version or first.version}"')
        if found.is_inline:
            return await self._inline(service, found), found
        try:
            return await self._library.bundle(_wanted(first, found, await self._trust(first))), found
        except SourceError as error:
            raise refusal_of(error) from error

    async def _shown(self, catalogue: Catalogue, instance: Instance, context: Context) -> JsonObject:
        entry = self._index.pacto(instance.key) if instance.namespace else None
        encoded = bytes(entry.status) if entry is not None else b""
        if not instance.namespace and context.bundle is not None:
            return await pulled_details(context.bundle, ref=instance.resolved_ref, now=context.now)
        whole = Context(
            now=context.now,
            bundle=context.bundle,
            problem=context.problem,
            latest=catalogue.latest(instance.key),
            radius=catalogue.radius(instance.service),
        )

        def details() -> JsonObject:
            return service_details(instance, decode_stored(encoded) if encoded else {}, whole)

        if len(encoded) > LARGE_BYTES:
            return await with_bytes(len(encoded), details, namespace=instance.namespace)
        return await with_bundles([whole.bundle], details, namespace=instance.namespace)

    async def _current(self, instance: Instance) -> tuple[Bundle | None, str]:
        if not instance.oci:
            return await self._inline_bundle(instance), "the contract is inline"
        try:
            wanted = self._wanted_current(instance, await self._trust(instance))
            return await self._library.bundle(wanted), ""
        except SourceError as error:
            return None, str(error)

    async def _trust(self, instance: Instance) -> Trust | None:
        if not instance.namespace:
            return None
        entry = self._index.pacto(instance.key)
        if entry is None:
            raise NotFoundError(f'Pacto "{instance.name}" does not exist in namespace "{instance.namespace}"')
        ref = entry.spec.contract_ref.verify_key_ref
        return None if ref is None else await self._trusts(instance.namespace, ref)

    def _wanted_current(self, instance: Instance, trust: Trust | None) -> Wanted:
        revision = self._index.revision(instance.key, instance.revision)
        digest = revision.spec.source.digest if revision is not None else ""
        return Wanted(instance.resolved_ref or instance.oci, digest, secret=_secret(instance), trust=trust)

    async def _held(self, instance: Instance, version: Recorded, trust: Trust | None) -> Bundle | None:
        if version.is_inline:
            return await self._inline_bundle(instance) if version.is_current else None
        return self._library.held(_wanted(instance, version, trust))

    async def _tagged(self, instance: Instance) -> dict[str, str]:
        if not instance.oci or "@" in instance.oci:
            return {}
        name = parse_parts(registry_reference(instance.oci)).name
        try:
            tags = await self._library.tags(Wanted(name, secret=_secret(instance)))
        except SourceError:
            # What the cluster recorded is there all the same.
            return {}
        return {tag: f"{name}:{tag}" for tag in tags}

    async def _inline(self, service: Service, version: Recorded) -> Bundle:
        bundle = await self._inline_bundle(service.primary) if version.is_current else None
        if bundle is None:
            raise unknown(
                f'version "{version.version}" of "{service.name}" was given inline, and only the current one is kept'
            )
        return bundle

    async def _inline_bundle(self, instance: Instance) -> Bundle | None:
        entry = self._index.pacto(instance.key)
        text = entry.spec.contract_ref.inline if entry is not None else ""
        return await with_bytes(len(text), lambda: _parsed(text), namespace=instance.namespace)


def _parsed(text: str) -> Bundle | None:
    files = {CONTRACT_FILE: text.encode()} if text else {}
    try:
        return Bundle(load(files).contract, files)
    except ParseError:
        return None


async def pulled_details(bundle: Bundle, *, ref: str, now: datetime) -> JsonObject:
    """What a bundle of a registry says by itself."""
    return await with_bundles([bundle], lambda: bundle_details(bundle, ref=ref, source="oci", now=now))


def _wanted(instance: Instance, version: Recorded, trust: Trust | None) -> Wanted:
    return Wanted(version.ref or instance.oci, version.digest, secret=_secret(instance), trust=trust)


def _secret(instance: Instance) -> tuple[str, str]:
    return (instance.namespace, instance.pull_secret) if instance.pull_secret else ("", "")
