"""Checks whether the Services of admission webhooks have a Pod that is ready, of whomever the webhooks are.

An API server that reaches no webhook refuses the write, or skips the check, by the webhook's `failurePolicy`. Webhooks
with a URL are not checked: the server may reach it where this machine does not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Final

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import SERVICE
from homeostat.runtime.checkup import Finding

_CONFIGURATIONS: Final = "/apis/admissionregistration.k8s.io/v1"
_CHECK: Final = "admission webhooks"
_REMEDY: Final = "start the Pods of the Service (kubectl describe), or delete a webhook configuration that nobody needs"

_Service = tuple[str, str]
"""Namespace and name."""


async def check_webhooks(client: Client) -> Finding:
    try:
        hooks = [(name, hook) async for name, hook in _hooks(client)]
        troubles = {each: await _trouble(client, each) for each in {_service(hook) for _, hook in hooks}}
    except ApiError as error:
        return Finding(_CHECK, "SKIPPED", f"cannot read them: {error.message}")
    dead = [(name, hook) for name, hook in hooks if troubles[_service(hook)]]
    if not dead:
        detail = f"{len(hooks)} call a Service, which has a Pod that is ready" if hooks else "none calls a Service"
        return Finding(_CHECK, "OK", detail)
    refusing = [each for each in dead if each[1].get("failurePolicy", "Fail") == "Fail"]
    services = {_service(hook): name for name, hook in refusing or dead}
    told = ", ".join(f"{name}: {troubles[service]}" for service, name in services.items())
    kinds = ", ".join(sorted({each for _, hook in refusing or dead for each in _resources(hook)}))
    if refusing:
        return Finding(_CHECK, "FAIL", f"{told}; writes are refused: {kinds}", _REMEDY)
    return Finding(_CHECK, "WARN", f"{told}; writes pass without a check: {kinds}", _REMEDY)


async def _hooks(client: Client) -> AsyncIterator[tuple[str, JsonObject]]:
    """Those that call a Service, with the names of their configurations."""
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        for each in (await client.list(f"{_CONFIGURATIONS}/{plural}"))[0]:
            for hook in each.get("webhooks") or ():
                if hook["clientConfig"].get("service"):
                    yield each["metadata"]["name"], hook


def _service(hook: JsonObject) -> _Service:
    service = hook["clientConfig"]["service"]
    return service["namespace"], service["name"]


def _resources(hook: JsonObject) -> Iterator[str]:
    for rule in hook.get("rules") or ():
        yield from rule["resources"]


async def _trouble(client: Client, service: _Service) -> str:
    """Empty if a Pod behind the Service is ready."""
    namespace, name = service
    try:
        found = await client.get(SERVICE.path(namespace, name))
    except NotFoundError:
        return f"there is no Service {namespace}/{name}"
    if found["spec"].get("type") == "ExternalName":
        return ""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    slices, _ = await client.list(path, labelSelector=f"kubernetes.io/service-name={name}")
    endpoints = [endpoint for each in slices for endpoint in each.get("endpoints") or ()]
    is_ready = any((each.get("conditions") or {}).get("ready") is not False for each in endpoints)
    return "" if is_ready else f"no Pod of the Service {namespace}/{name} is ready"
