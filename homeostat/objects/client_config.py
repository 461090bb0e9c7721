"""How a webhook is called: the `clientConfig` and the review versions of admission and conversion webhooks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from homeostat.objects.errors import Cause, are_enough, invalid, required
from homeostat.objects.identifiers import dns1035_label, dns1123_subdomain
from homeostat.objects.json import Json, JsonObject

REVIEW_VERSIONS = ("v1", "v1beta1")


def check_client_config(client: JsonObject, path: str) -> list[Cause]:
    """Exactly one of `url` and `service`; values of the wrong type are reported elsewhere."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if isinstance(url, str):
        return _check_url(url, f"{path}.url")
    return _check_service(service, f"{path}.service") if isinstance(service, dict) else []


def _check_service(service: JsonObject, path: str) -> list[Cause]:
    causes = [required(f"{path}.{name}") for name in ("name", "namespace") if not service.get(name)]
    port, route = service.get("port"), service.get("path")
    if isinstance(port, int) and not isinstance(port, bool) and not 1 <= port <= 65535:
        causes.append(invalid(f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive"))
    return causes + _check_route(route, f"{path}.path")


def _check_route(route: Json, path: str) -> list[Cause]:
    if not isinstance(route, str) or route in ("", "/"):
        return []
    causes = [] if route.startswith("/") else [invalid(path, route, "must start with a '/'")]
    for index, segment in enumerate(route[1:].removesuffix("/").split("/")):
        if not segment:
            causes.append(invalid(path, route, f"segment[{index}] may not be empty"))
        causes += [invalid(path, route, f"segment[{index}]: {each}") for each in dns1123_subdomain(segment) if segment]
        if are_enough(causes):
            break
    return causes


def _check_url(url: str, path: str) -> list[Cause]:
    form = "; desired format: https://host[/path]"
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [required(path, f"url must be a valid URL: {error}{form}")]
    causes: list[Cause] = []
    if parts.scheme != "https":
        causes.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{form}"))
    if not parts.netloc:
        causes.append(invalid(path, parts.netloc, f"host must be specified{form}"))
    if "@" in parts.netloc:
        # The host, where Kubernetes repeats the password.
        causes.append(invalid(path, parts.netloc.rpartition("@")[2], "user information is not permitted in the URL"))
    if parts.fragment:
        causes.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        causes.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return causes


def check_review_versions(versions: Sequence[str], path: str, *, missing: str = "") -> list[Cause]:
    """`missing` is the message of the error if there are none."""
    if not versions:
        return [required(path, missing)]
    causes: list[Cause] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            causes.append(invalid(f"{path}[{index}]", version, "duplicate version"))
        else:
            causes += [invalid(f"{path}[{index}]", version, each) for each in dns1035_label(version)]
        if are_enough(causes):
            return causes
    if not any(each in REVIEW_VERSIONS for each in versions):
        causes.append(invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return causes
