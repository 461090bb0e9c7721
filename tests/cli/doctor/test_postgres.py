"""`homeostat doctor` on PostgreSQL: what it finds of a real server that is well, and of one that is not."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from homeostat import __version__
from homeostat.cli.doctor.postgres import Facts, check_postgres, judge
from homeostat.runtime.checkup import Finding
from tests.cli.running import Cli, running
from tests.postgres import Postgres, running_postgres, running_standby

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WELL = Facts(
    version=160004,
    version_text="16.4",
    encoding="UTF8",
    is_synced=True,
    size=1 << 20,
    is_encrypted=True,
    is_local=False,
    free_sessions=90,
    has_tables=True,
    clock=NOW,
    clock_here=NOW,
    schema=1,
    replicas=[("10.0.0.1", __version__), ("10.0.0.2", __version__)],
)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres(settings={"fsync": "on"}) as server:
        yield server


async def findings(url: str, data: Path | None = None) -> dict[str, Finding]:
    return {each.check: each for each in await check_postgres(url, data)}


def test_a_plane_on_postgresql_is_well_and_a_wrong_key_is_not(postgres: Postgres, cli: Cli, tmp_path: Path) -> None:
    with running(cli, "--operators", "none", "--database", postgres.url) as up:
        done = up.cli.here("doctor", "--data", up.data, "--database", postgres.url, "-o", "json")
        found = {each["check"]: each for each in done.json["findings"]}
        assert (done.code, done.json["result"]) == (0, "OK"), done.out
        assert f"1 connected: this machine ({__version__})" in found["replicas"]["detail"]
        assert found["seal"]["result"] == found["database schema"]["result"] == "OK"
        other = tmp_path / "other"
        other.mkdir(mode=0o700)
        (other / "seal.key").write_bytes(b"\1" * 32)
        wrong = asyncio.run(findings(postgres.url, other))
        assert wrong["seal"].result == "FAIL"
        assert "copy the seal.key" in wrong["seal"].remedy
    alone = up.cli.here("doctor", "--database", postgres.url, "--kubeconfig", tmp_path / "none", "-o", "json")
    assert {each["check"]: each["result"] for each in alone.json["findings"]}["database"] == "OK"


@pytest.mark.parametrize(
    ("url", "text", "remedy"),
    [
        pytest.param(
            "postgresql://owner:sesame@127.0.0.1:1/postgres", "Connect call failed", "check that it runs", id="down"
        ),
        pytest.param("postgresql://owner:sesame@{host}/postgres", "password", "PGPASSWORD", id="password"),
        pytest.param("postgresql://nobody:sesame@{host}/postgres", "password", "PGPASSWORD", id="user"),
        pytest.param("postgresql://owner:{password}@{host}/other", "does not exist", "CREATE DATABASE", id="name"),
        pytest.param(
            "postgresql://owner:{password}@{host}/postgres?sslmode=require", "SSL", "TLS enabled", id="no TLS"
        ),
        pytest.param("postgresql://owner:a/b@{host}/postgres", "must have the form", "correct --database", id="URL"),
    ],
)
async def test_a_database_that_lets_nobody_in_says_why_without_the_password(
    postgres: Postgres, url: str, text: str, remedy: str
) -> None:
    password = postgres.url_at(1).partition("owner:")[2].partition("@")[0]
    (found,) = await check_postgres(url.format(host=f"127.0.0.1:{postgres.port}", password=password), None)
    assert (found.check, found.result) == ("database", "FAIL")
    assert text in found.detail
    assert remedy in found.remedy
    assert not any(each in found.detail + found.remedy for each in ("sesame", password, "a/b"))


async def test_a_standby_is_no_database_for_a_plane(postgres: Postgres) -> None:
    with running_standby(postgres) as standby:
        (found,) = await check_postgres(standby.url, None)
        assert (found.result, "primary" in found.remedy) == ("FAIL", True)
        hosts = f"127.0.0.1:{standby.port},127.0.0.1:{postgres.port}"
        several = postgres.url_at(1).replace("127.0.0.1:1", hosts)
        assert (await findings(several))["database"].result == "OK"


async def test_a_certificate_that_nobody_trusts_is_named(postgres: Postgres, tmp_path: Path) -> None:
    (tmp_path / "other.pem").write_text(ssl.DER_cert_to_PEM_cert(b""))
    url = f"{postgres.url_at(postgres.port)}?sslmode=verify-full&sslrootcert={tmp_path}/other.pem"
    (found,) = await check_postgres(url, None)
    assert (found.result, "sslrootcert" in found.remedy) == ("FAIL", True)


@pytest.mark.parametrize(
    ("change", "check", "result", "text"),
    [
        pytest.param({"version": 120022, "version_text": "12.22"}, "database", "FAIL", "12.22 is too old", id="old"),
        pytest.param({"encoding": "SQL_ASCII"}, "database", "FAIL", "SQL_ASCII", id="encoding"),
        pytest.param({"is_synced": False}, "database", "WARN", "fsync = off", id="fsync"),
        pytest.param({"is_encrypted": False}, "database connection", "WARN", "not encrypted", id="plain text"),
        pytest.param({"clock": NOW + timedelta(seconds=20)}, "database clock", "WARN", "by 19 s", id="clock"),
        pytest.param({"clock": NOW - timedelta(hours=1)}, "database clock", "FAIL", "by 3599 s", id="far clock"),
        pytest.param({"schema": 99}, "database schema", "FAIL", "has schema 99", id="newer schema"),
        pytest.param({"schema": 0}, "database schema", "WARN", "migrates it to", id="older schema"),
        pytest.param({"free_sessions": 4}, "replicas", "WARN", "4 connections left", id="connections"),
        pytest.param(
            {"replicas": [("10.0.0.1", "0.0.9"), ("10.0.0.2", __version__)]},
            "replicas",
            "WARN",
            f"10.0.0.1 (0.0.9), 10.0.0.2 ({__version__})",
            id="versions",
        ),
    ],
)
def test_what_is_wrong_with_a_database_is_found_and_says_what_to_do(
    change: dict[str, object], check: str, result: str, text: str
) -> None:
    well = {each.check: each.result for each in judge(WELL, None)}
    assert set(well.values()) == {"OK"}
    found = {each.check: each for each in judge(msgspec.structs.replace(WELL, **change), None)}
    assert {name: each.result for name, each in found.items()} == {**well, check: result}
    assert text in found[check].detail
    assert found[check].remedy


def test_a_database_without_tables_is_not_a_failure() -> None:
    fresh = msgspec.structs.replace(WELL, has_tables=False, schema=0, replicas=[], is_encrypted=False, is_local=True)
    assert {each.check: each.result for each in judge(fresh, None)} == {
        **{each.check: "OK" for each in judge(WELL, None)},
        "database schema": "SKIPPED",
    }
