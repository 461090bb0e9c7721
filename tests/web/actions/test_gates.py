"""Who may do what: by a gate of a test's own, and by the tokens and roles of a real plane."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec
import pytest

from homeostat.client.base import Client
from homeostat.edge.request import Request
from homeostat.edge.server import serve
from homeostat.objects.json import JsonObject
from homeostat.operators import actions
from homeostat.plane import Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.server.access.tokens.file import Tokens
from homeostat.testing.eventually import eventually
from homeostat.web.actions.app import refuse, rest_app
from homeostat.web.actions.face import Face
from homeostat.web.kit.gate import Administrator, Caller, Operation, Question, SystemPermission, bearer_token
from homeostat.web.kit.refusal import RefusalError, forbidden, unauthorized
from tests.web.actions.calling import NOTE_TYPE, Answer, Api, note
from tests.web.actions.shelf import World
from tests.web.rest import open_face

ROLES = "/apis/rbac.authorization.k8s.io/v1"


class Limited:
    """`permissions` are operations by type and version, with `*` for any."""

    id = 7
    groups = ()
    is_admin = False
    is_cluster_user = False

    def __init__(self, username: str, permissions: dict[tuple[str, str], str]) -> None:
        self.username, self._permissions = username, permissions

    def client(self, own: Client) -> Client:
        raise forbidden("has no permissions in the Kubernetes API")

    async def may(self, type_name: str, type_version: str, operation: Operation) -> bool:
        places = [(name, version) for name in (type_name, "*") for version in (type_version, "*")]
        return any(operation in self._permissions.get(each, "") for each in places)

    async def has(self, permission: SystemPermission) -> bool:
        return False

    async def may_read_secret(self, name: str) -> bool:
        return name == "own"

    async def allows(self, question: Question) -> bool:
        return False


CALLERS: dict[str, Caller] = {
    "root": Administrator("root"),
    "reader": Limited("reader", {("Note", "v1"): "READ"}),
    "writer": Limited("writer", {("*", "v1"): "READ CREATE UPDATE"}),
    "nobody": Limited("nobody", {}),
}


class Listed:
    async def identify(self, request: Request) -> Caller:
        if (caller := CALLERS.get(bearer_token(request))) is None:
            raise unauthorized()
        return caller


@pytest.fixture
def gated(face: Face) -> Face:
    face.gate = Listed()
    return face


@pytest.fixture
async def two(gated: Face, api: Api) -> Api:
    """Two types, each with a resource."""
    for name in ("Note", "Page"):
        await api.post("/resource-types", {**NOTE_TYPE, "name": name}, Authorization="Bearer root")
        body = note("one", resource_type_name=name, plugin_config={"token": "secret"})
        assert (await api.post("/resources", body, Authorization="Bearer root")).status == 201
    return api


READABLE = {"root": ["Page", "Note"], "reader": ["Note"], "writer": ["Page", "Note"], "nobody": []}
ALLOWED = [
    ("reader", "GET", "/resources/1", 200),
    ("reader", "GET", "/resources/2", 403),
    ("reader", "GET", "/resources/2/history", 403),
    ("reader", "GET", "/resources/2/outputs", 403),
    ("reader", "GET", "/resources/2/logs", 403),
    ("reader", "GET", "/resources/by-name/Page/v1/one", 403),
    ("reader", "DELETE", "/resources/1", 403),
    ("reader", "POST", "/resources/1/reconcile", 403),
    ("writer", "POST", "/resources/2/reconcile", 202),
    ("writer", "DELETE", "/resources/2", 403),
    ("nobody", "GET", "/resources/99", 404),
    ("nobody", "GET", "/resource-types", 200),
    ("nobody", "GET", "/plugins/actions", 403),
    ("nobody", "GET", "/cluster/nodes", 403),
    ("nobody", "DELETE", "/resource-types/1", 403),
    ("", "GET", "/resources", 401),
    ("", "GET", "/resource-types", 401),
    ("", "GET", "/cluster/nodes", 401),
    ("", "GET", "/cluster/health", 200),
    ("", "GET", "/health", 200),
    ("root", "GET", "/plugins/actions", 200),
]


async def test_a_list_has_what_may_be_read(two: Api) -> None:
    for who, names in READABLE.items():
        listed = await two.get("/resources", Authorization=f"Bearer {who}")
        assert [each["resource_type_name"] for each in listed.body] == names
        assert all(("plugin_config" in each) == (who == "root") for each in listed.body)


async def test_each_may_do_what_is_theirs(two: Api) -> None:
    for who, method, path, status in ALLOWED:
        answer = await two.call(method, path, **({"Authorization": f"Bearer {who}"} if who else {}))
        assert answer.status == status, (who, method, path)
        if status == 401:
            assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_a_permission_is_checked_before_anything_else_of_a_body(two: Api) -> None:
    body = note("two", action_plugin="magic", spec={})
    assert (await two.post("/resources", body, Authorization="Bearer reader")).status == 403
    assert (await two.put("/resources/1", {"spec": {"size": 0}}, Authorization="Bearer reader")).status == 403
    applied = await two.put("/resources/by-name/Note/v1/new", {"spec": {}}, Authorization="Bearer reader")
    assert applied.status == 403


SECRET = {"store": "secret", "key": "somebodys/key"}
ELSEWHERE = "https://mine.example/"


@pytest.mark.parametrize(
    ("config", "field"),
    [
        pytest.param({"url": ELSEWHERE, "item": ELSEWHERE}, "item", id="addresses"),
        pytest.param({"headers": {"X-Stolen": SECRET}}, "headers", id="headers"),
        pytest.param({"secrets": {"stolen": SECRET}}, "secrets", id="secrets"),
        pytest.param({"body": {"a": "${spec.text}"}}, "body", id="templates"),
    ],
)
async def test_a_caller_cannot_make_the_http_plugin_send_what_its_type_does_not_allow(
    two: Api, config: JsonObject, field: str
) -> None:
    body = note("two", action_plugin="http", plugin_config=config)
    for who in ("writer", "root"):
        answer = await two.post("/resources", body, Authorization=f"Bearer {who}")
        assert (answer.status, answer.body["detail"].startswith(f"plugin_config.{field}: ")) == (400, True), answer
        assert answer.body["detail"].endswith(f"list {field} in resource_fields of the type")
    # Nor by a change of a resource that is there, or by name.
    changed = await two.put(
        "/resources/by-name/Note/v1/one",
        {"action_plugin": "http", "plugin_config": config},
        Authorization="Bearer writer",
    )
    assert changed.status == 400


async def test_a_caller_cannot_name_another_plugin_than_the_type(two: Api) -> None:
    # One of the operator's own, with whose credentials the type has nothing to do.
    named = {"action_plugin": "shelf"}
    assert (await two.put("/resource-types/1", named, Authorization="Bearer root")).status == 200
    body = note("two", action_plugin="github_actions", plugin_config={"owner": "acme", "repo": "payroll"})
    for who in ("writer", "root"):
        answer = await two.post("/resources", body, Authorization=f"Bearer {who}")
        assert (answer.status, answer.body["detail"].startswith("action_plugin: resources may not name")) == (400, True)
        assert "list plugin in resource_fields of the type" in answer.body["detail"]
    assert (await two.post("/resources", note("two"), Authorization="Bearer writer")).status == 201


async def test_a_caller_may_name_only_secrets_that_they_may_read(two: Api) -> None:
    listed = await two.put("/resource-types/1", {"resource_fields": ["headers"]}, Authorization="Bearer root")
    assert listed.body["resource_fields"] == ["headers"]
    config: JsonObject = {"headers": {"X": SECRET}}
    body = note("two", action_plugin="http", plugin_config=config)
    answer = await two.post("/resources", body, Authorization="Bearer writer")
    assert (answer.status, '"somebodys"' in answer.body["detail"]) == (403, True)
    config["headers"]["X"] = {"store": "secret", "key": "own/key"}
    assert (await two.post("/resources", body, Authorization="Bearer writer")).status == 201
    number = answer_id(await two.get("/resources/by-name/Note/v1/two", Authorization="Bearer root"))
    stolen = {"plugin_config": {"headers": {"X": SECRET}}}
    assert (await two.put(f"/resources/{number}", stolen, Authorization="Bearer writer")).status == 403
    assert (await two.put(f"/resources/{number}", stolen, Authorization="Bearer root")).status == 200
    unlisted = await two.put("/resource-types/1", {"resource_fields": None}, Authorization="Bearer root")
    assert unlisted.body["resource_fields"] is None


def answer_id(answer: Answer) -> int:
    number: int = answer.body["id"]
    return number


class Hook:
    """Says what it was asked, and does as it is told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any, Any]] = []
        self.spec: JsonObject | None = None
        self.refusal: RefusalError | None = None

    async def admit(self, operation: str, resource: JsonObject, old: JsonObject | None) -> JsonObject:
        self.asked.append((operation, resource["spec"], old["spec"] if old else None))
        if self.refusal is not None:
            raise self.refusal
        found: JsonObject = self.spec or resource["spec"]
        return found


async def test_hooks_are_asked_after_the_schema_and_what_they_change_is_checked_again(face: Face, notes: Api) -> None:
    hook = face.hooks = Hook()
    assert (await notes.post("/resources", note("one", spec={"size": 1}))).status == 400
    assert hook.asked == []
    hook.spec = {"size": 2}
    answer = await notes.post("/resources", note("one"))
    assert (answer.status, "text: Required" in answer.body["detail"]) == (400, True)
    hook.spec = {"text": "changed"}
    assert (await notes.made("/resources", note("one")))["spec"] == {"text": "changed", "size": 3}
    hook.refusal = forbidden("not on a Friday")
    for method, path, body in (
        ("POST", "/resources", note("two")),
        ("PUT", "/resources/1", {"spec": {"text": "b"}}),
        ("DELETE", "/resources/1", None),
    ):
        answer = await notes.call(method, path, body)
        assert (answer.status, answer.body["detail"]) == (403, "not on a Friday"), path
    settled = {"text": "changed", "size": 3}
    assert hook.asked[-2:] == [("UPDATE", {"text": "b"}, settled), ("DELETE", settled, settled)]
    assert (await notes.put("/resources/1", {"plugin_config": {}})).status == 200


class Reviewed(NamedTuple):
    api: Api
    tokens: dict[str, str]
    client: Client
    audit: Path

    async def call(self, who: str, method: str, path: str, body: Any = None) -> Answer:
        return await self.api.call(method, path, body, Authorization=f"Bearer {self.tokens.get(who, 'wrong')}")

    async def is_served(self) -> None:
        """The type of notes, by its administrator."""
        made = await self.call("root", "POST", "/resource-types", NOTE_TYPE)
        assert made.status == 201, made


@pytest.fixture
async def reviewed(shelf: World, tmp_path: Path) -> AsyncIterator[Reviewed]:
    """A plane that asks for credentials, and tokens of its own by name."""
    data = tmp_path / "plane"
    data.mkdir(mode=0o700)
    audit = data / "audit.log"
    operators = frozenset({"housekeeping", "actions"})
    async with open_plane(Settings(data=data, port=0, operators=operators, audit_log=audit)) as plane:
        tokens = Tokens(data / "tokens.json")
        made = {name: tokens.create(name, now=time.time(), groups=groups) for name, groups in USERS.items()}
        await install(plane.client, actions.KINDS)
        for name, rules in RULES.items():
            await plane.client.create(f"{ROLES}/clusterroles", {"metadata": {"name": name}, "rules": rules})
            binding = {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}],
            }
            await plane.client.create(f"{ROLES}/clusterrolebindings", binding)
        async with open_face(plane.client) as face:
            server = await serve(rest_app(face), refuse=refuse)
            async with aiohttp.ClientSession() as session:
                yield Reviewed(Api(session, f"http://127.0.0.1:{server.port}"), made, plane.client, audit)
            await server.stop()


USERS: dict[str, tuple[str, ...]] = {
    "root": ("system:masters",),
    "reader": (),
    "author": (),
    "editor": (),
    "stranger": (),
}
RULES: dict[str, list[JsonObject]] = {
    "reader": [
        {"apiGroups": ["resources.homeostat.dev"], "resources": ["notes"], "verbs": ["get"]},
        {"apiGroups": ["homeostat.dev"], "resources": ["resourcetypes"], "verbs": ["list"]},
    ],
    "author": [
        {"apiGroups": ["resources.homeostat.dev"], "resources": ["notes"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["own"], "verbs": ["get"]},
    ],
    "editor": [
        {"apiGroups": ["resources.homeostat.dev"], "resources": ["notes"], "verbs": ["create", "update", "delete"]},
    ],
}


async def test_the_tokens_of_the_plane_are_taken_and_its_roles_count(reviewed: Reviewed) -> None:
    async def call(who: str, method: str, path: str, body: Any = None) -> int:
        return (await reviewed.call(who, method, path, body)).status

    assert await call("wrong", "GET", "/resources") == 401
    assert (await reviewed.api.get("/resources")).status == 401
    await reviewed.is_served()
    assert await call("root", "POST", "/resources", note("one")) == 201
    assert await call("reader", "GET", "/resources/1") == 200
    assert await call("reader", "DELETE", "/resources/1") == 403
    assert await call("reader", "GET", "/plugins/actions") == 200
    listed = {"resource_fields": ["headers"]}
    assert await call("root", "PUT", "/resource-types/1", listed) == 200
    for name, status in (("own", 201), ("somebodys", 403)):
        headers = {"X": {"store": "secret", "key": f"{name}/key"}}
        body = note(f"by-{name}", action_plugin="http", plugin_config={"headers": headers})
        assert await call("author", "POST", "/resources", body) == status
    assert await call("reader", "POST", "/resource-types", NOTE_TYPE) == 403
    assert await call("stranger", "GET", "/resources/1") == 403
    assert await call("stranger", "GET", "/plugins/actions") == 403


async def test_a_user_of_the_kubernetes_api_writes_as_themselves(reviewed: Reviewed) -> None:
    await reviewed.is_served()
    assert (await reviewed.call("editor", "POST", "/resources", note("one"))).status == 201
    assert (await reviewed.call("editor", "PUT", "/resources/1", {"spec": {"text": "b"}})).status == 200
    refused = await reviewed.call("editor", "POST", "/resources/1/reconcile")
    assert (refused.status, 'User "editor" cannot patch' in refused.body["detail"]) == (403, True), refused
    # The answer that they may is still cached here; the server decides.
    await reviewed.client.delete(f"{ROLES}/clusterrolebindings/editor")
    for method, path, body in (
        ("POST", "/resources", note("two")),
        ("PUT", "/resources/1", {"spec": {"text": "c"}}),
    ):
        refused = await reviewed.call("editor", method, path, body)
        assert (refused.status, 'User "editor" cannot' in refused.body["detail"]) == (403, True), refused
    written = await eventually(lambda: _writers(reviewed.audit), lambda found: ("editor", "update", 403) in found)
    assert {each for each in written if each[2] < 300} == {("editor", "create", 201), ("editor", "update", 200)}


async def _writers(audit: Path) -> set[tuple[str, str, int]]:
    """Who wrote notes, and what they were answered. The operator writes the status alone."""
    entries = [msgspec.json.decode(line) for line in (await asyncio.to_thread(audit.read_bytes)).splitlines()]
    return {
        (each["user"]["username"], each["verb"], each["responseStatus"]["code"])
        for each in entries
        if each.get("objectRef", {}).get("resource") == "notes"
        and each["verb"] in ("create", "update", "delete", "patch")
        and not each["objectRef"].get("subresource")
    }
