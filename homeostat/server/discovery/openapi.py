"""OpenAPI v3: an index, and one document for each group and version, built on demand.

`kubectl apply` and `explain` read these before they send anything. The index names each document with a hash of its
sources, so the index needs no documents, and clients cache a document until it changes. Kinds that have not changed
keep their document when others are added or removed.

Version 2 is one document of everything, as JSON or as protobuf, made of a piece for each group and version. Pieces are
kept like documents, so that a changed kind costs its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from homeostat.edge.threads import in_thread
from homeostat.objects.json import encode
from homeostat.server.discovery.document import Document, content_hash, document_of
from homeostat.server.discovery.groups import group_order, subresources, version_order
from homeostat.server.discovery.openapi_paths import paths_of
from homeostat.server.discovery.openapi_schemas import schemas_of
from homeostat.server.discovery.openapi_v2 import Form, Piece, piece_of, whole_document
from homeostat.server.kinds.registry import Kind

_USER = "openapi"
_FORM = 4
"""Increase it when the documents of the same kinds change, or clients keep cached ones."""


class OpenApi:
    """The documents of a set of kinds; `update` sets the kinds.

    A document that is not there yet is made in a thread: hundreds of kinds, or their schemas of megabytes, take long.
    """

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self._kinds: dict[str, list[Kind]] = {}
        self._hashes: dict[str, str] = {}
        self._documents: dict[str, Document] = {}
        self._index: Document | None = None
        self._pieces: dict[tuple[str, Form], Piece] = {}
        self._whole: dict[Form, Document] = {}
        self.update(kinds)

    def update(self, kinds: Iterable[Kind]) -> None:
        by_path: dict[str, list[Kind]] = {}
        for kind in sorted(kinds, key=_order):
            by_path.setdefault(document_path(kind.group, kind.version), []).append(kind)
        for path in list(self._hashes):
            # A Kind is immutable; a changed definition makes a new one.
            if by_path.get(path) != self._kinds[path]:
                del self._hashes[path]
                self._documents.pop(path, None)
        for path, form in list(self._pieces):
            if by_path.get(path) != self._kinds[path]:
                del self._pieces[path, form]
        self._kinds, self._index, self._whole = by_path, None, {}

    async def index(self) -> Document:
        """`/openapi/v3`."""
        if self._index is not None:
            return self._index
        kinds = self._kinds
        hashes = {path: self._hashes.get(path) for path in kinds}
        made = await in_thread(
            lambda: {path: known or _hash(kinds[path]) for path, known in hashes.items()}, user=_USER
        )
        paths = {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={own}"} for path, own in made.items()}
        index = document_of({"paths": paths})
        if self._kinds is kinds:
            self._hashes, self._index = made, index
        return index

    async def document(self, path: str) -> Document | None:
        """`/openapi/v3/{path}`, such as `api/v1` or `apis/apps/v1`; None where nothing is served."""
        kinds = self._kinds.get(path)
        if kinds is None:
            return None
        if found := self._documents.get(path):
            return found
        known = self._hashes.get(path)
        # Who waited behind somebody else who wanted the same finds it made.
        made = await in_thread(lambda: self._documents.get(path) or _build(kinds, known or _hash(kinds)), user=_USER)
        if self._kinds.get(path) is kinds:
            self._documents[path] = made
            self._hashes[path] = made.etag.strip('"')
        return made

    async def whole(self, form: Form) -> Document:
        """`/openapi/v2`."""
        if found := self._whole.get(form):
            return found
        kinds, known = self._kinds, dict(self._pieces)

        def make() -> tuple[Document, dict[tuple[str, Form], Piece]]:
            if found := self._whole.get(form):
                return found, known
            pieces = {
                (path, form): known.get((path, form)) or piece_of(each, _used(each), form)
                for path, each in kinds.items()
            }
            return Document(whole_document(pieces.values(), form)).pack(), pieces

        made, pieces = await in_thread(make, user=_USER)
        if self._kinds is kinds:
            self._whole[form] = made
            self._pieces |= pieces
        return made


def document_path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _order(kind: Kind) -> tuple[object, ...]:
    return group_order(kind.group), version_order(kind.version), kind.plural


def _hash(kinds: list[Kind]) -> str:
    # Kind by kind: the schemas of a group may have hundreds of megabytes together.
    return content_hash("".join(content_hash(encode((_FORM, _facts(kind)))) for kind in kinds).encode())[:32]


def _facts(kind: Kind) -> tuple[object, ...]:
    return (
        (kind.kind, kind.plural, kind.list_kind, kind.namespaced, kind.verbs, kind.custom),
        [(each.name, each.verbs, each.kind) for each in subresources(kind)],
        kind.raw_schema,
    )


def _build(kinds: list[Kind], etag: str) -> Document:
    group, version = kinds[0].group, kinds[0].version
    body = b"".join(
        (
            b'{"openapi":"3.0.0","info":{"title":"Kubernetes","version":"unversioned"},"paths":',
            _encoded(paths_of(group, version, kinds)),
            b',"components":{"schemas":',
            _encoded(schemas_of(kinds, _used(kinds))),
            b',"securitySchemes":{"BearerToken":{"type":"apiKey","name":"authorization","in":"header"}}}}',
        )
    )
    return Document(body, etag=f'"{etag}"').pack()


def _used(kinds: list[Kind]) -> list[tuple[str, str, str]]:
    """The kinds of subresources."""
    return sorted({(each.group, each.version, each.kind) for kind in kinds for each in subresources(kind)})


def _encoded(members: Mapping[str, object]) -> bytes:
    """An object, encoded member by member: each step holds the interpreter lock."""
    return b"{" + b",".join(encode(name) + b":" + encode(value) for name, value in members.items()) + b"}"
