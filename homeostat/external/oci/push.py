"""Pushes to a registry: blobs first, then the manifest that refers to them.

A blob that the registry has is not sent again; one of another repository is mounted if the registry supports it. If the
registry has no referrers API, a manifest with a subject is added to the tag that lists the referrers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from homeostat.external.oci.connection import Call, failure
from homeostat.external.oci.digest import digest_of
from homeostat.external.oci.errors import UnexpectedResponseError
from homeostat.external.oci.manifest import Descriptor, Index, Manifest, encode_manifest
from homeostat.external.oci.registry import Registry, parse_reference, replace_digest, tag_of
from homeostat.objects.views.image import Image

_BYTES: Final = {"Content-Type": "application/octet-stream"}


async def push_blob(
    registry: Registry, reference: str | Image, data: bytes, media_type: str, source: str = ""
) -> Descriptor:
    """`source` is another repository of the registry that may have the blob."""
    image, descriptor = parse_reference(reference), Descriptor(media_type, digest_of(data), len(data))
    url = await _start(registry, image, descriptor, source)
    if url:
        await _finish(registry, image, url, descriptor, data)
    return descriptor


async def push_manifest(registry: Registry, reference: str | Image, manifest: Manifest | Index) -> Image:
    """Under the reference's tag, or without one by its digest. The blobs must have been pushed before."""
    image, body = parse_reference(reference), encode_manifest(manifest)
    digest = digest_of(body)
    headers = await _put_manifest(registry, image, image.tag or digest, body, manifest.media_type)
    if (stated := headers.get("docker-content-digest", digest)) != digest:
        raise UnexpectedResponseError(
            f"{image.repository}: expected the digest {digest}, the registry says {stated[:150]}"
        )
    if manifest.subject is not None and "oci-subject" not in headers:
        kind = manifest.kind if isinstance(manifest, Manifest) else manifest.artifact_type
        own = Descriptor(manifest.media_type, digest, len(body), manifest.annotations, kind)
        await _list_referrer(registry, image, manifest.subject.digest, own)
    return replace_digest(image, digest) if image.tag else Image(image.repository, "", digest)


async def _list_referrer(registry: Registry, image: Image, subject: str, own: Descriptor) -> None:
    index = await registry.referrers_tag(Image(image.repository, "", subject))
    if all(each.digest != own.digest for each in index.manifests):
        body = encode_manifest(Index(manifests=(*index.manifests, own)))
        await _put_manifest(registry, image, tag_of(subject), body, index.media_type)


async def _put_manifest(registry: Registry, image: Image, name: str, body: bytes, media_type: str) -> dict[str, str]:
    call = _call(registry, "PUT", path=f"manifests/{name}", headers={"Content-Type": media_type}, body=body)
    response = await registry.connections.send(image, call)
    if not response.is_success:
        raise failure(image, response.status, response.headers, response.body, name)
    return dict(response.headers)


async def _start(registry: Registry, image: Image, descriptor: Descriptor, source: str) -> str:
    """The URL of the upload; empty if the registry already has the blob."""
    send, limits = registry.connections.send, registry.limits
    known = await send(image, _call(registry, "HEAD", path=f"blobs/{descriptor.digest}"))
    if known.is_success:
        return ""
    query = f"?{urlencode({'mount': descriptor.digest, 'from': source})}" if source else ""
    call = replace(_call(registry, "POST", path=f"blobs/uploads/{query}", body=b""), mounts=source)
    started = await send(image, replace(call, timeout_s=limits.timeout_s))
    if started.status == 201 and source:
        return ""
    if started.status != 202:
        raise failure(image, started.status, started.headers, started.body, "upload")
    return registry.connections.location(image, started.headers.get("location", ""))


async def _finish(registry: Registry, image: Image, url: str, descriptor: Descriptor, data: bytes) -> None:
    joined = f"{url}{'&' if '?' in url else '?'}{urlencode({'digest': descriptor.digest})}"
    call = replace(_call(registry, "PUT", headers=_BYTES, body=data), url=joined)
    response = await registry.connections.send(image, call)
    if response.status != 201:
        raise failure(image, response.status, response.headers, response.body, "upload")


def _call(
    registry: Registry, method: str, *, path: str = "", headers: dict[str, str] | None = None, body: bytes | None = None
) -> Call:
    return Call(
        method=method,
        path=path,
        headers=headers or {},
        body=body,
        is_push=True,
        timeout_s=registry.limits.blob_timeout_s,
    )
