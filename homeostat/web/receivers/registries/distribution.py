"""Notifications of CNCF Distribution (docker registry), which GitLab's registry and Azure's send as well. Pure.

An envelope holds events of pushes, pulls, mounts and deletions of manifests and blobs. Azure sends one event without
an envelope. GitLab's registry is configured with a notification endpoint as Distribution is; projects of GitLab have
no webhook for it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.push import Headers, ImagePush, PayloadError, items, part, required, text, unique


def read_notification(_headers: Headers, body: JsonObject) -> list[ImagePush]:
    if "events" not in body and "action" not in body:
        raise PayloadError('"events" is missing; is this webhook of another sender?')
    events = items(body, "events") if "events" in body else [body]
    return unique([_push(each) for each in events if _is_manifest(each)])


def _is_manifest(event: JsonObject) -> bool:
    """Blobs are pushed before the manifest that refers to them; only the manifest counts. Some senders, such as
    Azure's charts, give no media type of a manifest, but a tag.
    """
    target = part(event, "target")
    kind = text(target, "mediaType")
    is_manifest = "manifest" in kind or "index" in kind or bool(text(target, "tag"))
    return text(event, "action") in ("push", "chart_push") and is_manifest


def _push(event: JsonObject) -> ImagePush:
    target = part(event, "target")
    host = text(part(event, "request"), "host") or urlsplit(text(target, "url")).netloc
    return ImagePush(host, required(target, "repository"), text(target, "tag"), text(target, "digest"))
