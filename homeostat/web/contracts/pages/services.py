"""`/api/services`: all services, one of them, its versions, sources, dependents and references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.turn import shared_turn
from homeostat.objects.json import JsonObject, encode
from homeostat.operators.contracts.engine.services.catalogue import Catalogue, Service
from homeostat.operators.contracts.engine.services.details import bundle_details
from homeostat.operators.contracts.engine.services.instance import Instance
from homeostat.operators.contracts.engine.services.relations import (
    dependents_of,
    referenced_by,
    references_of,
    service_tree,
)
from homeostat.web.contracts.context import ContractsFace
from homeostat.web.contracts.threads import with_bundles
from homeostat.web.kit.etags import fresh
from homeostat.web.kit.form import read_query
from homeostat.web.kit.pages import next_page
from homeostat.web.kit.refusal import unknown

LARGEST_PAGE = 10_000
T = TypeVar("T")


class ServiceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Filters of the list; empty ones select everything. `after` is the last name of the page before."""

    limit: Annotated[int, Meta(ge=1, le=LARGEST_PAGE)] = LARGEST_PAGE
    after: Annotated[str, Meta(max_length=253)] = ""
    status: Annotated[str, Meta(max_length=253)] = ""
    owner: Annotated[str, Meta(max_length=253)] = ""
    namespace: Annotated[str, Meta(max_length=253)] = ""
    q: Annotated[str, Meta(max_length=253)] = ""
    """A part of the name."""

    @property
    def is_whole(self) -> bool:
        return self == ServiceQuery()


class Services:
    def __init__(self, face: ContractsFace) -> None:
        self._face = face

    async def list(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view, query = await self._face.visibility.view(request), read_query(request, ServiceQuery)
        if query.is_whole and len(view) <= LARGEST_PAGE:
            return fresh(request, view.list_body(), version=self._face.tag(view))
        view.refresh()
        page: list[Service] = []
        for each in _chosen(view, query):
            page.append(each)
            if len(page) > query.limit:
                break
        headers = next_page(request, page[query.limit - 1].name) if len(page) > query.limit else ()
        entries = b",".join(map(view.entry, page[: query.limit]))
        return Reply(200, b"[%b]" % entries, headers=headers)

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view = await self._face.visibility.view(request)
        service, chosen = find_service(view, captured["name"]), read_query(request, ServiceQuery).namespace
        details = await self._face.bundles.details(view, _instance(service, chosen), self._face.now())
        details["instances"] = [_place(each) for each in _in_order(service)]
        return Reply(200, encode(details))

    async def versions(self, request: Request, captured: Mapping[str, str]) -> Reply:
        service = (await self._face.visibility.view(request)).get(captured["name"])
        return Reply(200, encode(await self._face.bundles.versions(service) if service is not None else []))

    async def version(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view = await self._face.visibility.view(request)
        service, now = find_service(view, captured["name"]), self._face.now()
        bundle, found = await self._face.bundles.bundle_of(service, captured["version"])
        if found.is_current:
            details = await self._face.bundles.details(view, service.primary, now)
        else:
            source = "oci" if found.ref else "k8s"
            details = await with_bundles(
                [bundle], lambda: bundle_details(bundle, ref=found.ref, source=source, now=now)
            )
        return Reply(200, encode(details | {"history": msgspec.to_builtins(found)}))

    async def sources(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view, now = await self._face.visibility.view(request), self._face.now()
        first, bundles = find_service(view, captured["name"]).primary, self._face.bundles
        found: list[JsonObject] = []
        if first.namespace:
            found.append({"sourceType": "k8s", "service": await bundles.details_of_cluster(view, first, now)})
        if (pulled := await bundles.details_of_registry(first, now)) is not None:
            found.append({"sourceType": "oci", "service": pulled})
        merged = await bundles.details(view, first, now)
        return Reply(200, encode({"name": first.service, "sources": found, "merged": merged}))

    async def graph(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view = await self._face.visibility.view(request)
        return Reply(200, encode(service_tree(view, find_service(view, captured["name"]))))

    async def dependents(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view = await self._face.visibility.view(request)
        return Reply(200, encode(await _in_turns(dependents_of(view, captured["name"]))))

    async def references(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view, name = await self._face.visibility.view(request), captured["name"]
        service = view.get(name)
        outgoing = references_of(view, service) if service is not None else []
        return Reply(200, encode({"references": outgoing, "referencedBy": await _in_turns(referenced_by(view, name))}))


async def _in_turns(values: Iterator[T | None]) -> list[T]:
    """All requests share the turns: each of a hundred services may have thousands of dependencies."""
    turn, found = shared_turn(), list[T]()
    for each in values:
        if each is not None:
            found.append(each)
        await turn.pause()
    return found


def _chosen(view: Catalogue, query: ServiceQuery) -> Iterator[Service]:
    text = query.q.lower()
    for service in view.in_order():
        if service.name <= query.after or text not in service.name:
            continue
        first = _first(service, query.namespace)
        if first is None or query.status not in ("", first.status):
            continue
        if query.owner in ("", _owner(first)):
            yield service


def _first(service: Service, namespace: str) -> Instance | None:
    if not namespace:
        return service.primary
    matching = (each for each in service.instances.values() if each.namespace == namespace)
    return min(matching, key=lambda each: each.rank, default=None)


def _owner(instance: Instance) -> str:
    owner = instance.owner
    if isinstance(owner, dict):
        return str(owner.get("team") or owner.get("dri") or "")
    return owner if isinstance(owner, str) else getattr(owner, "display", "")


def find_service(view: Catalogue, name: str) -> Service:
    service = view.get(name)
    if service is None:
        raise unknown(f'there is no service "{name}", or you are not allowed to see it')
    return service


def _instance(service: Service, namespace: str) -> Instance:
    found = _first(service, namespace)
    if found is None:
        raise unknown(f'the service "{service.name}" has no Pacto in the namespace "{namespace}"')
    return found


def _in_order(service: Service) -> list[Instance]:
    return sorted(service.instances.values(), key=lambda each: each.rank)


def _place(instance: Instance) -> JsonObject:
    return {
        "namespace": instance.namespace,
        "pacto": instance.name,
        "version": instance.version,
        "contractStatus": instance.status,
    }
