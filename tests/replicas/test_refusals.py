"""A replica that must not serve does not start, says why in one line, and never with a password in it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.postgres import Postgres
from tests.replicas.replica import PROGRAM, Replica, environment, open_clients, running_replicas

WITHOUT_DRIVER = "import sys; sys.modules['asyncpg'] = None; from homeostat.cli.main import main; main()"


def refused(*arguments: str, program: Sequence[str] = (PROGRAM,), code: int = 1) -> str:
    """What it says; it must end by itself."""
    command = [*program, "up", "--port", "0", "--faces-port", "0", *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.url_at(postgres.port)


def test_another_seal_is_refused(replicas: Sequence[Replica], url: str, tmp_path: Path) -> None:
    said = refused("--data", str(tmp_path / "other"), "--database", url)
    assert "is sealed as" in said
    assert str(urlsplit(url).password) not in said


def test_a_wrong_password_is_reported_without_it(url: str, tmp_path: Path) -> None:
    password = urlsplit(url).password
    assert password
    said = refused("--data", str(tmp_path), "--database", url.replace(password, "wrong-one"))
    assert "cannot open" in said
    assert "wrong-one" not in said


@pytest.mark.parametrize(
    "query",
    ["?password=wrong-one", "?sslmode=nonsense&password=wrong-one", "?host=127.0.0.1&password=wrong-one&port=x"],
)
def test_a_password_in_the_query_is_not_shown_either(url: str, tmp_path: Path, query: str) -> None:
    parts = urlsplit(url)
    said = refused("--data", str(tmp_path), "--database", f"postgresql://owner@127.0.0.1:{parts.port}/postgres{query}")
    assert said.startswith("error: ")
    assert "wrong-one" not in said


def test_a_schema_of_a_newer_program_is_refused(empty_database: str, tmp_path: Path) -> None:
    async def make() -> None:
        owner = await asyncpg.connect(empty_database)
        await owner.execute("CREATE SCHEMA homeostat CREATE TABLE migration (number int PRIMARY KEY, at timestamptz)")
        await owner.execute("INSERT INTO homeostat.migration VALUES (1000, now())")
        await owner.close()

    asyncio.run(make())
    said = refused("--data", str(tmp_path), "--database", empty_database)
    assert "has schema 1000, and this is homeostat" in said
    assert "restore a backup" in said


def test_without_the_driver_it_says_what_to_install(url: str, tmp_path: Path) -> None:
    program = (sys.executable, "-c", WITHOUT_DRIVER)
    assert "pip install 'homeostat-plane[postgres]'" in refused(
        "--data", str(tmp_path), "--database", url, program=program
    )


def test_open_is_refused_beside_replicas_that_ask_for_credentials(url: str, tmp_path: Path) -> None:
    said = refused("--data", str(tmp_path), "--database", url, "--open", code=2)
    assert "--open" in said
    assert "PostgreSQL" in said


async def test_the_address_of_a_balancer_is_in_the_kubeconfig_and_the_certificate(
    empty_database: str, tmp_path: Path
) -> None:
    given = ("--address", "https://plane.example:7443")
    with running_replicas(tmp_path / "data", empty_database, *given, count=1) as (replica,):
        assert given[1] in (tmp_path / "data" / "kubeconfig").read_text()
        by_name = replace(replica.endpoint, tls_server_name="plane.example")
        async with open_clients([by_name]) as (client,):
            await client.get("/api/v1/namespaces/default")
        assert replica.stop() == 0
