"""`/api/graph` and `/api/diff`: all services with their edges, and what changed between two versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.turn import Turn
from homeostat.objects.json import JsonObject, encode
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.diff.change import Change, worst
from homeostat.operators.contracts.engine.diff.compare import diff_contracts
from homeostat.operators.contracts.engine.diff.sbom import SbomDifference, compare_sboms, read_sbom
from homeostat.operators.contracts.engine.services.relations import draw_node, graph_body
from homeostat.web.contracts.context import ContractsFace
from homeostat.web.contracts.pages.services import find_service
from homeostat.web.contracts.threads import with_bundles
from homeostat.web.kit.etags import fresh
from homeostat.web.kit.form import read_query

Text = Annotated[str, Meta(max_length=256)]
Named = Annotated[str, Meta(min_length=1, max_length=256)]


class DiffQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Without a version, the one in use is compared."""

    from_name: Named
    to_name: Named
    from_version: Text = ""
    to_version: Text = ""


class Comparison:
    def __init__(self, face: ContractsFace) -> None:
        self._face = face
        self._graph: tuple[str, bytes] = ("", b"")

    async def graph(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view = await self._face.visibility.view(request)
        tag = self._face.tag(view)
        if self._graph[0] != tag:
            turn = Turn()
            for service in list(view.in_order()):
                if service.instances:
                    draw_node(view, service)
                await turn.pause()
            tag = self._face.tag(view)
            self._graph = tag, graph_body(view)
        return fresh(request, self._graph[1], version=tag)

    async def diff(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view, query = await self._face.visibility.view(request), read_query(request, DiffQuery)
        old, before = await self._face.bundles.bundle_of(find_service(view, query.from_name), query.from_version)
        new, after = await self._face.bundles.bundle_of(find_service(view, query.to_name), query.to_version)
        changes, packages = await with_bundles([old, new], lambda: _compared(old, new))
        found: JsonObject = {
            "from": {"name": query.from_name, "version": before.version, "source": before.source},
            "to": {"name": query.to_name, "version": after.version, "source": after.source},
            "classification": worst(each.classification for each in changes),
            "changes": changes,
        }
        return Reply(200, encode(found | ({"sbomDiff": packages} if packages is not None else {})))


def _compared(old: Bundle, new: Bundle) -> tuple[list[Change], SbomDifference | None]:
    return diff_contracts(old, new), compare_sboms(read_sbom(old.files), read_sbom(new.files))
