"""Secret stores, health checks, and policies of other namespaces: what their conditions say, and that they recover."""

from __future__ import annotations

from typing import Any

from homeostat.objects.json import JsonObject
from homeostat.operators.sync.api.policy import SYNC_POLICY
from tests.cluster.fixtures import create_namespace
from tests.external.servers import serving
from tests.external.vault.fake import FakeVault
from tests.operators.sync.operator.stage import Stage, operating, ready_of
from tests.ports import free_port


def condition(status: JsonObject, name: str) -> tuple[str, str]:
    found: JsonObject = next((each for each in status.get("conditions", ()) if each["type"] == name), {})
    return found.get("status", ""), found.get("reason", "")


def key(name: str, key: str) -> JsonObject:
    return {"name": name, "key": key}


async def test_a_store_is_ready_if_it_can_be_opened_and_recovers(stage: Stage) -> None:
    revision = stage.origin.commit({"customers/acme/resource.json": '{"id": "acme"}'})
    fake = FakeVault()
    (stage.root / "junk").write_text("not a store")
    async with operating(stage), serving(fake.answer) as url:
        await stage.declare()
        await stage.synced(revision)

        file = {"path": str(stage.root / "junk"), "encryption": {"passphraseRef": key("store", "passphrase")}}
        await stage.apply("SecretStore", "store", {"file": file})
        status = await stage.until(lambda status: ready_of(status)[0] == "False", "SecretStore", "store")
        assert ready_of(status)[1:] == ("DependencyInvalid", f"{stage.root}/junk: the file is not a secret store")
        await stage.until(lambda status: ready_of(status)[1] == "DependencyNotReady")

        (stage.root / "link").symlink_to("/etc")
        await stage.apply("SecretStore", "store", {"file": {**file, "path": str(stage.root / "link" / "secrets")}})
        status = await stage.until(lambda status: "--sync-secret-files" in ready_of(status)[2], "SecretStore", "store")
        assert ready_of(status)[:2] == ("False", "DependencyInvalid")

        await stage.secret("vault", token="wrong-token-of-vault")
        vault: dict[str, Any] = {"address": url, "auth": {"token": {"secretRef": key("vault", "token")}}}
        await stage.apply("SecretStore", "store", {"vault": vault})
        status = await stage.until(lambda status: "Vault" in ready_of(status)[2], "SecretStore", "store")
        assert ready_of(status)[:2] == ("False", "DependencyInvalid")
        assert "wrong-token-of-vault" not in str(status)
        await stage.secret("vault", token="root-token")
        await stage.until(lambda status: ready_of(status)[0] == "True")

        vault["address"] = f"http://127.0.0.1:{free_port()}"
        await stage.apply("SecretStore", "store", {"vault": vault})
        status = await stage.until(lambda status: ready_of(status)[0] == "Unknown", "SecretStore", "store")
        assert ready_of(status)[1] == "StoreUnreachable"
        await stage.until(lambda status: ready_of(status)[1] == "DependencyNotReady")
        vault["address"] = url
        await stage.apply("SecretStore", "store", {"vault": vault})
        await stage.until(lambda status: ready_of(status)[0] == "True")


async def test_a_failed_health_check_and_another_namespace_are_shown_and_stop_nothing(stage: Stage) -> None:
    revision = stage.origin.commit({"customers/acme/resource.json": '{"id": "acme"}'})
    async with operating(stage):
        await stage.declare()
        await stage.synced(revision)
        assert condition((await stage.get("ManagedServer", "api"))["status"], "Healthy") == ("", "")
        for path, expected in (
            ("/none", ("False", "HealthCheckFailed")),
            ("/customers", ("True", "HealthCheckPassed")),
        ):
            await stage.apply("ManagedServer", "api", stage.server(healthCheck=path))
            checks = expected
            status = await stage.until(lambda s: condition(s, "Healthy") == checks, "ManagedServer", "api")  # noqa: B023
            assert ready_of(status)[0] == "True"
        assert "HealthCheckFailed" in [reason for reason, _ in await stage.events()]

        other = Stage.__new__(Stage)
        other.__dict__ |= {**stage.__dict__, "namespace": await create_namespace(stage.client)}
        await other.declare(source={"path": "/customers/acme"})
        for each in (stage, other):
            await each.until(lambda status: condition(status, "SharedScope") == ("True", "OverlappingNamespaces"))
            await each.until(lambda status: ready_of(status)[0] == "True")
        await other.client.delete(SYNC_POLICY.kind.path(other.namespace, "customers"))
        # A cluster is shared: policies of other tests may sync the same server.
        await stage.until(lambda status: other.namespace not in str(status["conditions"]))
