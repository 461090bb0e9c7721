"""Secrets of a real Vault, through a policy on a plane and through commands, by every login of a SecretStore."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.objects.json import JsonObject
from tests.external.vault.real import RealVault, needs_vault, reviewed_token, running_vault
from tests.kubectl.kubectl import Kubectl
from tests.operators.sync.cases import Case, Rest
from tests.operators.sync.operator.stage import Stage, operating, ready_of
from tests.served import serve_plane
from tools.build_kubectl import find_kubectl

pytestmark = needs_vault
SECRET = "value-of-the-secret"
KEY = "customers/acme:/apiToken"


@pytest.fixture(scope="module")
def real() -> Iterator[RealVault]:
    with running_vault() as vault:
        yield vault


@pytest.fixture
def account(real: RealVault, tmp_path: Path) -> Iterator[str]:
    """The token of a ServiceAccount of a plane, which reviews it for Vault."""
    with serve_plane(tmp_path / "reviewer") as plane:
        yield reviewed_token(real, Kubectl(find_kubectl(), tmp_path, plane.kubeconfig, "default"))


def ref(key: str) -> JsonObject:
    return {"name": "vault", "key": key}


async def test_a_policy_syncs_with_secrets_of_a_vault_by_every_login(stage: Stage, real: RealVault) -> None:
    role, secret_id = real.role()
    real.user("jo", "its-password", "people")
    token = real.token()
    await stage.secret("vault", token=token, user="jo", password="its-password", role=role, secret=secret_id)
    stage.origin.commit({"customers/acme/resource.json": '{"id": "acme", "apiToken": "{{secret .}}"}'})
    people = {"usernameRef": ref("user"), "passwordRef": ref("password"), "mount": "people"}
    by_role = {"roleIDRef": ref("role"), "secretIDRef": ref("secret")}
    spec: JsonObject = {"address": real.url, "pathPrefix": "homeostat"}
    async with operating(stage):
        await stage.declare(syncInterval="1s")
        for number, auth in enumerate(
            ({"token": {"secretRef": ref("token")}}, {"userpass": people}, {"appRole": by_role})
        ):
            value = f"{SECRET}-{number}"
            real.call("POST", f"secret/data/homeostat/{KEY}", {"data": {"value": value}})
            await stage.apply("SecretStore", "store", {"vault": {**spec, "auth": auth}})
            await stage.stored("/customers/acme", {"id": "acme", "apiToken": value})
        await stage.until(lambda status: ready_of(status)[0] == "True")
        real.seal()
        try:
            status = await stage.until(lambda status: ready_of(status)[0] == "False")
            assert "sealed" in ready_of(status)[2]
        finally:
            real.unseal()
        await stage.until(lambda status: ready_of(status)[0] == "True")
        real.call("DELETE", f"secret/metadata/homeostat/{KEY}")
        status = await stage.until(lambda status: ready_of(status)[0] == "False")
        assert f'no secret "{KEY}"' in ready_of(status)[2]
        await stage.secret("vault", token="wrong-credential")
        await stage.apply("SecretStore", "store", {"vault": {**spec, "auth": {"token": {"secretRef": ref("token")}}}})
        status = await stage.until(
            lambda status: "403" in str(status) or "permission denied" in str(status), "SecretStore", "store"
        )
        shown = str(
            [await stage.get(kind, name) for kind, name in (("SecretStore", "store"), ("SyncPolicy", "customers"))]
        )
        shown += str(await stage.events()) + stage.metrics()
    for hidden in (SECRET, token, "its-password", secret_id, "wrong-credential"):
        assert hidden not in shown


@pytest.mark.kubectl
async def test_a_policy_syncs_by_the_token_of_a_service_account(stage: Stage, real: RealVault, account: str) -> None:
    await stage.secret("vault", token=account)
    stage.origin.commit({"customers/acme/resource.json": '{"id": "acme", "apiToken": "{{secret .}}"}'})
    real.call("POST", f"secret/data/homeostat/{KEY}", {"data": {"value": SECRET}})

    def spec(role: str) -> JsonObject:
        login = {"kubernetes": {"role": role, "tokenRef": ref("token")}}
        return {"vault": {"address": real.url, "pathPrefix": "homeostat", "auth": login}}

    async with operating(stage):
        await stage.declare(syncInterval="1s")
        await stage.apply("SecretStore", "store", spec("app"))
        await stage.stored("/customers/acme", {"id": "acme", "apiToken": SECRET})
        await stage.apply("SecretStore", "store", spec("other"))
        await stage.until(lambda status: ready_of(status)[0] == "False", "SecretStore", "store")
        shown = str([await stage.get("SecretStore", "store"), await stage.events()]) + stage.metrics()
    assert account not in shown


def run(case: dict[str, Any], root: Path, rest: Rest) -> list[str]:
    return Case(case, root, rest).run()


@pytest.mark.kubectl
async def test_commands_keep_secrets_in_a_vault(real: RealVault, rest: Rest, tmp_path: Path, account: str) -> None:
    (tmp_path / "account").write_text(account)
    role, secret_id = real.role()
    real.user("jo", "its-password")
    common: JsonObject = {"address": real.url, "pathPrefix": "team/cli"}
    by_role = {"appRole": {"roleID": role, "secretID": secret_id}}
    logins: dict[str, JsonObject] = {
        "token": {**common, "auth": {"token": real.token()}},
        "user": {**common, "auth": {"password": {"credentialsRef": {"name": "jo"}}}},
        "role": {**common, "auth": by_role},
        "account": {**common, "auth": {"kubernetes": {"role": "app", "tokenFile": str(tmp_path / "account")}}},
        "old": {**common, "mount": "old", "kvVersion": 1, "auth": {"token": real.root}},
    }
    wrong: dict[str, JsonObject] = {
        "refused": {**common, "auth": {"appRole": {"roleID": role, "secretID": "wrong-credential"}}},
        "denied": {**common, "pathPrefix": "hidden", "auth": {"token": real.token()}},
        "away": {**common, "address": "http://127.0.0.1:1", "auth": {"token": "any-token"}},
    }
    codes = {"refused": 4, "denied": 4, "away": 6}

    def step(*args: str, code: int = 0, **expect: Any) -> dict[str, Any]:
        return {"args": list(args), "expect": {"exit": code, "quiet": True, **expect}}

    for number, (name, vault) in enumerate({**logins, **wrong}.items()):
        steps = [step("secret", "get", "/s/a:/pw", code=codes.get(name, 0))]
        if name in logins:
            steps = [
                step("secret", "init"),
                step("secret", "set", "/s/a:/pw", SECRET),
                step("secret", "set", "/s/b", "named", "other-value"),
                step("secret", "get", "/s/a", "/pw", stdout={"text": SECRET}),
                step("secret", "list", stdout={"json": ["/s/a:/pw", "/s/b:named"]}),
                step("secret", "list", "/s", "-r", stdout={"json": ["/a:/pw", "/b:named"]}),
                {
                    "args": ["resource", "apply", "/s/a", "-v"],
                    "expect": {
                        "exit": 0,
                        "writes": [{"method": "POST", "path": "/s", "body": {"id": "a", "pw": SECRET}}],
                    },
                },
                step("resource", "diff", "/s/a", "-o", "json", stdout={"json": []}),
                step("secret", "delete", "/s/a:/pw"),
                step("secret", "delete", "/s/b:named"),
                step("secret", "get", "/s/a:/pw", code=3),
            ]
        case = {
            "context": {"secretStore": {"vault": vault}},
            "catalog": {"credentials": [{"name": "jo", "username": "jo", "password": "its-password"}]},
            "files": {"s/a/resource.json": '{"id": "a", "pw": "{{secret .}}"}'},
            "server": {"collections": {"/s": {}}},
            "never": ["wrong-credential", "its-password", secret_id, account],
            "steps": steps,
            "expect": {"objects": {"/s/a": {"id": "a", "pw": SECRET}} if name in logins else {}},
        }
        root = tmp_path / str(number)
        root.mkdir()
        assert await asyncio.to_thread(run, case, root, rest) == [], name
        if name in logins and name != "old":
            for each in ("s/a:/pw", "s/b:named"):
                real.call("DELETE", f"secret/metadata/team/cli/{each}")
