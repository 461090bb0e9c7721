"""Rows of the Tables that a server returns: which columns are shown, and which are added before them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from homeostat.cli.console.table import shorten_commits
from homeostat.cli.objects.kinds import Kind
from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import epoch_of, human_duration

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_PAGE = 500
_PLAIN: list[JsonObject] = [{"name": "Name"}, {"name": "Age"}]


class Columns:
    """The columns of one kind's table; `is_wide` shows those of lesser priority as well, and commits in full."""

    def __init__(self, table: JsonObject, kind: Kind, *, is_wide: bool, with_namespace: bool, with_kind: bool) -> None:
        definitions = table.get("columnDefinitions") or []
        self._shown = [index for index, each in enumerate(definitions) if is_wide or not each.get("priority")]
        self._is_wide = is_wide
        self._with_namespace = with_namespace and kind.is_namespaced
        self._prefix = f"{kind.title}/" if with_kind else ""
        names = [str(definitions[index]["name"]).upper() for index in self._shown]
        self.headings = ["NAMESPACE", *names] if self._with_namespace else names

    def cells(self, table: JsonObject) -> Iterable[Sequence[object]]:
        for row in table.get("rows") or ():
            cells = [row["cells"][index] for index in self._shown]
            if not self._is_wide:
                cells[1:] = [shorten_commits(each) if isinstance(each, str) else each for each in cells[1:]]
            if self._prefix and cells:
                cells[0] = f"{self._prefix}{cells[0]}"
            if self._with_namespace:
                cells.insert(0, ((row.get("object") or {}).get("metadata") or {}).get("namespace", ""))
            yield cells


def as_table(answer: JsonObject) -> JsonObject:
    """The answer itself, or a Table made from it if the server does not support Tables and sent objects."""
    if answer.get("kind") == "Table":
        return answer
    objects = [answer] if answer["metadata"].get("name") else answer.get("items") or ()
    now = time.time()
    rows = [{"cells": [each["metadata"]["name"], _age(each, now)], "object": each} for each in objects]
    return {"metadata": answer["metadata"], "columnDefinitions": _PLAIN, "rows": rows}


def _age(obj: JsonObject, now: float) -> str:
    at = epoch_of(obj["metadata"].get("creationTimestamp"))
    return "" if at is None else human_duration(now - at)


async def fetch_table(client: Client, path: str, **query: object) -> JsonObject:
    """The complete table of a path, fetched in pages; the path of one object gives one row."""
    table = page = as_table(await client.request("GET", path, {"limit": _PAGE, **query}, accept=TABLE))
    rows = table["rows"] = list(table.get("rows") or ())
    while token := page["metadata"].get("continue", ""):
        page = as_table(await client.request("GET", path, {"limit": _PAGE, "continue": token, **query}, accept=TABLE))
        rows += page.get("rows") or ()
        table["metadata"] = page["metadata"]
    return table
