"""The event `package` of Gitea and Forgejo, for their container registry. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.push import Headers, ImagePush, part, required, text


def read_gitea_package(headers: Headers, body: JsonObject) -> list[ImagePush]:
    event = headers.get("x-gitea-event") or headers.get("x-forgejo-event") or headers.get("x-gogs-event", "")
    package = part(body, "package")
    if event != "package" or text(body, "action") != "created" or text(package, "type") != "container":
        return []
    owner = part(package, "owner")
    name = f"{text(owner, 'login') or required(owner, 'username')}/{required(package, 'name')}".lower()
    version = text(package, "version")
    host = urlsplit(text(package, "html_url")).netloc
    is_digest = version.startswith("sha256:")
    return [ImagePush(host, name, "" if is_digest else version, version if is_digest else "")]
