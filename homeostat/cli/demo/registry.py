"""A registry in memory: as much of the OCI distribution API as pushing and pulling small artifacts takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from homeostat.edge.handler import Answer
from homeostat.edge.reply import Fields, Reply
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes
from homeostat.external.oci.digest import digest_of
from homeostat.objects.json import encode

_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_EMPTY: Final = b"{}"


class Registry:
    """`/v2/NAME/(manifests|blobs|tags)/...`, without logins."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}
        self._manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self._tags: dict[str, list[str]] = {}
        self._uploads = 0

    def add_routes(self, routes: Routes) -> None:
        for method in ("GET", "POST", "PUT", "PATCH"):
            routes.add(method, "/v2/{path:path}", self._serve)

    def add_image(self, repository: str, tag: str) -> None:
        """An image of nothing, so that the tag exists."""
        config = self._keep(_EMPTY)
        described = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config, "size": len(_EMPTY)}
        manifest = encode({"schemaVersion": 2, "mediaType": _MANIFEST, "config": described, "layers": []})
        self._put_manifest(repository, tag, _MANIFEST, manifest)

    async def _serve(self, request: Request, captured: Mapping[str, str]) -> Answer:
        path = captured["path"].strip("/")
        if not path:
            return Reply(200, _EMPTY)
        name, _, last = path.rpartition("/")
        repository, _, what = name.rpartition("/")
        match request.method, what:
            case "GET" | "HEAD", "manifests":
                return self._manifest(repository, last)
            case "GET" | "HEAD", "blobs":
                return self._blob(last)
            case "GET", "tags":
                return self._list(repository)
            case "PUT", "manifests":
                kind = request.headers.get("content-type", _MANIFEST)
                return self._put_manifest(repository, last, kind, request.body)
        return self._upload(request, path)

    def _manifest(self, repository: str, reference: str) -> Reply:
        found = self._manifests.get((repository, reference))
        if found is None:
            return _unknown("MANIFEST_UNKNOWN", f"{repository}:{reference} is unknown")
        kind, body = found
        return Reply(200, body, kind, (("Docker-Content-Digest", digest_of(body)),))

    def _blob(self, digest: str) -> Reply:
        body = self._blobs.get(digest)
        if body is None:
            return _unknown("BLOB_UNKNOWN", f"{digest} is unknown")
        return Reply(200, body, "application/octet-stream", (("Docker-Content-Digest", digest),))

    def _list(self, repository: str) -> Reply:
        if repository not in self._tags:
            return _unknown("NAME_UNKNOWN", f"{repository} is unknown")
        return Reply(200, encode({"name": repository, "tags": self._tags[repository]}))

    def _upload(self, request: Request, path: str) -> Reply:
        """A blob, in one piece or in two: POST for a place, then PUT with the digest."""
        repository, _, _ = path.partition("/blobs/uploads")
        digest = parse_qs(request.query).get("digest", [""])[0]
        if request.method == "PUT" or (request.method == "POST" and digest):
            if digest != digest_of(request.body):
                return Reply(400, encode({"errors": [{"code": "DIGEST_INVALID", "message": "another digest"}]}))
            return _created(f"/v2/{repository}/blobs/{self._keep(request.body)}")
        if request.method == "POST":
            self._uploads += 1
            return Reply(202, headers=(("Location", f"/v2/{repository}/blobs/uploads/{self._uploads}"),))
        return Reply(405, encode({"errors": [{"code": "UNSUPPORTED", "message": f"{request.method} {path}"}]}))

    def _keep(self, body: bytes) -> str:
        digest = digest_of(body)
        self._blobs[digest] = body
        return digest

    def _put_manifest(self, repository: str, reference: str, kind: str, body: bytes) -> Reply:
        digest = digest_of(body)
        for name in (reference, digest):
            self._manifests[repository, name] = (kind, body)
        tags = self._tags.setdefault(repository, [])
        if reference not in tags and not reference.startswith("sha256:"):
            tags.append(reference)
        return _created(f"/v2/{repository}/manifests/{digest}", (("Docker-Content-Digest", digest),))


def _created(location: str, headers: Fields = ()) -> Reply:
    return Reply(201, headers=(("Location", location), *headers))


def _unknown(code: str, message: str) -> Reply:
    return Reply(404, encode({"errors": [{"code": code, "message": message}]}))
