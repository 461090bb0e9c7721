"""The plugin on a real plane, and on the PostgreSQL server that POSTGRES_URL names, as its superuser."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import pytest_asyncio
import yaml
from postgres_roles.server import connected

from homeostat.sdk import Client, Discovery, JsonObject, Kind, Wait
from homeostat.testing import condition_of, eventually, open_test_plane

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif("POSTGRES_URL" not in os.environ, reason="POSTGRES_URL names no server"),
]
SERVER = urlsplit(os.environ.get("POSTGRES_URL", ""))
ROLES = Kind("resources.homeostat.dev", "v1", "postgresroles", "PostgresRole", is_namespaced=True)
ORDERS = ROLES.path("default", "orders")


def declared(name: str) -> JsonObject:
    read = yaml.safe_load((Path(__file__).parent.parent / name).read_bytes())
    assert isinstance(read, dict)
    return read


@pytest_asyncio.fixture(autouse=True)
async def database() -> AsyncIterator[Any]:
    connection = await asyncpg.connect(urlunsplit(SERVER))
    yield connection
    await connection.execute("DROP TABLE IF EXISTS kept; DROP ROLE IF EXISTS orders")
    await connection.close()


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """Of a plane with the type and the secret on it."""
    kind = declared("type.yaml")
    without_password = SERVER._replace(netloc=f"{SERVER.username}@{SERVER.hostname}:{SERVER.port}")
    kind["spec"]["action"]["config"]["url"] = urlunsplit(without_password)
    kind["spec"]["retry"] = {"baseSeconds": 1}
    environment = {"HOMEOSTAT_SECRET_POSTGRES": SERVER.password or ""}
    async with open_test_plane(tmp_path, "actions", environment=environment) as plane:
        await plane.client.apply("/apis/homeostat.dev/v1alpha1/resourcetypes/postgresrole", kind, manager="test")
        await plane.client.create("/api/v1/namespaces/default/secrets", declared("secret.yaml"))
        await eventually(lambda: Discovery(plane.client).find("resources.homeostat.dev/v1", "PostgresRole"), bool)
        yield plane.client


async def declare(client: Client, **spec: Any) -> None:
    orders = declared("orders.yaml")
    await client.apply(ORDERS, {**orders, "spec": {**orders["spec"], **spec}}, manager="test")


async def reaches(client: Client, phase: str) -> JsonObject:
    def is_there(obj: JsonObject) -> bool:
        status = obj.get("status", {})
        return (status.get("phase"), status.get("observedGeneration")) == (phase, obj["metadata"]["generation"])

    return await eventually(lambda: client.get(ORDERS), is_there)


async def look(client: Client, number: int) -> None:
    await client.merge(ORDERS, {"metadata": {"annotations": {"homeostat.dev/reconcile": str(number)}}})


async def limit(database: Any) -> int | None:
    found: int | None = await database.fetchval("SELECT rolconnlimit FROM pg_roles WHERE rolname = 'orders'")
    return found


async def test_a_role_logs_in_with_the_password_of_its_secret(client: Client) -> None:
    await declare(client)
    orders = await reaches(client, "ready")
    assert condition_of(orders, "CanLogin")["status"] == "True"
    password = declared("secret.yaml")["stringData"]["password"]
    session = await asyncpg.connect(orders["status"]["outputs"]["url"], password=password)
    assert await session.fetchval("SELECT current_user") == "orders"
    await session.close()


@pytest.mark.parametrize(
    "tampering",
    [
        "ALTER ROLE orders SUPERUSER CONNECTION LIMIT 5",
        "ALTER ROLE orders CONNECTION LIMIT 5 PASSWORD 'guessed'",
        "REVOKE pg_read_all_data FROM orders; ALTER ROLE orders CONNECTION LIMIT 5",
        "DROP ROLE orders",
    ],
    ids=["too mighty", "another password", "a right less", "gone"],
)
async def test_drift_is_repaired(client: Client, database: Any, tampering: str) -> None:
    await declare(client)
    await reaches(client, "ready")
    await database.execute(tampering)
    await look(client, 1)
    await eventually(lambda: limit(database), lambda found: found == 20)
    await reaches(client, "ready")


async def test_a_role_of_somebody_else_is_neither_changed_nor_dropped(client: Client, database: Any) -> None:
    await database.execute("CREATE ROLE orders CONNECTION LIMIT 7")
    await declare(client)
    assert (await reaches(client, "failed"))["status"]["message"].endswith('there is a role "orders" that is not ours')
    await client.delete(ORDERS)
    await eventually(lambda: client.list(ROLES.path("default")), lambda listed: not listed[0])
    assert await limit(database) == 7


async def test_a_role_that_owns_something_goes_when_that_is_gone(client: Client, database: Any) -> None:
    await declare(client)
    await reaches(client, "ready")
    await database.execute("CREATE TABLE kept (); ALTER TABLE kept OWNER TO orders")
    await client.delete(ORDERS)
    held = await eventually(lambda: client.get(ORDERS), lambda obj: "StillInUse" in obj["status"].get("message", ""))
    assert "owner of table kept" in held["status"]["message"]
    await database.execute("DROP TABLE kept")
    await eventually(lambda: limit(database), lambda found: found is None)


async def test_only_what_the_type_allows_is_granted(client: Client, database: Any) -> None:
    await declare(client, memberOf=["pg_execute_server_program"])
    failed = await reaches(client, "failed")
    assert 'the type does not allow "pg_execute_server_program"' in failed["status"]["message"]
    assert await limit(database) is None


async def test_a_server_that_does_not_answer_is_waited_for() -> None:
    with pytest.raises(Wait, match="the server does not answer"):
        async with connected("postgresql://postgres@127.0.0.1:1/postgres", "correct-horse"):
            pass


async def test_no_password_is_shown(client: Client) -> None:
    await declare(client)
    await reaches(client, "ready")
    records, _ = await client.list("/apis/homeostat.dev/v1alpha1/namespaces/default/reconciliations")
    shown = f"{await client.get(ORDERS)} {records}"
    assert "set its password" in shown
    assert "open-sesame" not in shown
    assert "SCRAM" not in shown
