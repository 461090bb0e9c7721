"""Objects with a status, as an operator would have written it, and visitors with permissions of the Kubernetes API."""

from __future__ import annotations

from collections.abc import Sequence

from click.testing import CliRunner

from homeostat.cli.plane.token import command as token_command
from homeostat.client.base import Client
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import Kind
from homeostat.objects.roles import rule
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from tests.web.dashboard.site import Site

SINCE = "2026-11-17T10:00:00Z"
HOSTILE = "</pre><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
_RBAC = "rbac.authorization.k8s.io"


async def declare(
    client: Client, kind: Kind, name: str, *, namespace: str = "default", status: Json = None, **fields: Json
) -> None:
    metadata = {"name": name, **(fields.pop("metadata", None) or {})}
    body: JsonObject = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}
    await client.create(kind.path(namespace), body)
    if status is not None:
        await client.merge(kind.path(namespace, name, "status"), {"status": status})


def ready(status: str, reason: str, message: str) -> JsonObject:
    return {"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": SINCE}


async def visitor(plane: Plane, site: Site, name: str, rules: Sequence[JsonObject]) -> str:
    """The cookie of a user who is allowed this in the whole cluster."""
    made = CliRunner().invoke(token_command, ["create", name, "--data", str(plane.settings.data)])
    assert made.exit_code == 0, made.output
    role = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)}
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "apiGroup": _RBAC, "name": name}],
    }
    await plane.client.create(f"/apis/{_RBAC}/v1/clusterroles", role)
    await plane.client.create(f"/apis/{_RBAC}/v1/clusterrolebindings", binding)
    form = {"token": made.stdout.strip()}
    page = await eventually(lambda: site.send("/login", form), lambda page: page.status == 303)
    return page.headers["Set-Cookie"].partition(";")[0]


def reading(group: str, *resources: str) -> JsonObject:
    return rule(group, resources, ["get", "list", "watch"])


async def proof_of(site: Site, path: str, cookie: str = "") -> str:
    page = await site.open(path, **({"Cookie": cookie} if cookie else {}))
    return page.document.all("input", name="proof")[0].attributes["value"]
