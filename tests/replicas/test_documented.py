"""The steps of docs/postgres.md are enough."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from tests.postgres import Postgres
from tests.replicas.replica import open_clients, running_replicas

DOCUMENT = Path(__file__).parents[2] / "docs" / "postgres.md"
PASSWORD = "a-plain-one"


def documented() -> list[str]:
    """The statements, each for itself: a database is made outside transactions."""
    found = re.search(r"```sql\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert found
    return [each for each in found[1].replace("...", PASSWORD).split(";\n") if each]


async def test_the_role_and_the_database_of_the_document_carry_a_plane(postgres: Postgres, tmp_path: Path) -> None:
    owner = await asyncpg.connect(postgres.url)
    for statement in await asyncio.to_thread(documented):
        await owner.execute(statement)
    await owner.close()
    port = urlsplit(postgres.url_at(postgres.port)).port
    url = f"postgresql://plane:{PASSWORD}@127.0.0.1:{port}/plane"
    with running_replicas(tmp_path / "data", url, count=2) as pair:
        async with open_clients([each.endpoint for each in pair]) as clients:
            await clients[0].create("/api/v1/namespaces", {"metadata": {"name": "first"}})
            await clients[1].delete("/api/v1/namespaces/first")
    for each in pair:
        assert " ERROR " not in each.said()
        assert PASSWORD not in each.said()
