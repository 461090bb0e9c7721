"""The admin API of an imagined message broker: topics that `sync` keeps, and mailboxes that `actions` keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat.edge.handler import Answer
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes
from homeostat.objects.json import Json, JsonObject, encode

_LARGEST_MAILBOX_MB: Final = 1000


class Broker:
    """Collections below `/api`, each with objects by their `name`."""

    def __init__(self) -> None:
        self.collections: dict[str, dict[str, JsonObject]] = {"topics": {}, "mailboxes": {}}

    def add_routes(self, routes: Routes) -> None:
        routes.add("GET", "/api/{collection}", self._list)
        routes.add("POST", "/api/{collection}", self._create)
        routes.add("GET", "/api/{collection}/{name}", self._read)
        routes.add("PUT", "/api/{collection}/{name}", self._replace)
        routes.add("DELETE", "/api/{collection}/{name}", self._delete)

    async def _list(self, request: Request, captured: Mapping[str, str]) -> Answer:
        found = self.collections.get(captured["collection"])
        return _missing(request) if found is None else Reply(200, encode([*found.values()]))

    async def _read(self, request: Request, captured: Mapping[str, str]) -> Answer:
        found = self.collections.get(captured["collection"], {}).get(captured["name"])
        return _missing(request) if found is None else Reply(200, encode(found))

    async def _create(self, request: Request, captured: Mapping[str, str]) -> Answer:
        return self._kept(request, captured["collection"], "")

    async def _replace(self, request: Request, captured: Mapping[str, str]) -> Answer:
        return self._kept(request, captured["collection"], captured["name"])

    async def _delete(self, request: Request, captured: Mapping[str, str]) -> Answer:
        gone = self.collections.get(captured["collection"], {}).pop(captured["name"], None)
        return _missing(request) if gone is None else Reply(204)

    def _kept(self, request: Request, collection: str, name: str) -> Reply:
        try:
            obj: Json = msgspec.json.decode(request.body)
        except msgspec.DecodeError as error:
            return _refused(400, f"the body is not JSON: {error}")
        if collection not in self.collections or not isinstance(obj, dict):
            return _missing(request)
        size = obj.get("sizeMB")
        if collection == "mailboxes" and (not isinstance(size, int) or size > _LARGEST_MAILBOX_MB):
            return _refused(422, f"sizeMB is {size}; a mailbox has at most {_LARGEST_MAILBOX_MB} MB")
        kept = {**obj, "name": name or obj.get("name")}
        self.collections[collection][str(kept["name"])] = kept
        return Reply(200 if name else 201, encode(kept))


def _missing(request: Request) -> Reply:
    return _refused(404, f"there is no {request.path}")


def _refused(status: int, message: str) -> Reply:
    return Reply(status, encode({"error": message}))
