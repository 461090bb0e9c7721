"""`backup`, `restore` and `migrate-store` beside real planes."""

from __future__ import annotations

import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from homeostat.objects.json import JsonObject
from tests.cli.running import Cli, Up, https, make_cli, running
from tests.postgres import Postgres, running_postgres

OBJECTS = """
apiVersion: v1
kind: Secret
metadata: {name: word}
stringData: {word: quince}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
data: {word: apple}
"""
KINDS = ("ns", "cm", "secrets", "clusterroles", "clusterrolebindings", "services")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.backup"


def everything(cli: Cli) -> list[object]:
    """All but the Service of the plane itself, which names its port."""
    found = [cli.here("get", kind, "-A", "-o", "json") for kind in KINDS]
    assert {ended.code for ended in found} == {0}
    return [[each for each in ended.json["items"] if not is_own_service(each)] for ended in found]


def is_own_service(obj: JsonObject) -> bool:
    return obj["kind"] in {"Service", "Endpoints", "EndpointSlice"} and obj["metadata"]["name"] == "kubernetes"


def is_gone(up: Up, since: int) -> bool:
    """Whether a watch from there is answered by 410."""
    connection = https(up)
    connection.request("GET", f"/api/v1/configmaps?watch=true&timeoutSeconds=1&resourceVersion={since}")
    answer = connection.getresponse().read()
    connection.close()
    return b'"code":410' in answer


def copy_keys(data: Path, to: Path) -> None:
    shutil.copytree(data / "pki", to / "pki")
    shutil.copy2(data / "seal.key", to / "seal.key")


def test_a_running_plane_is_backed_up_and_restored_as_it_was(cli: Cli, file: Path, tmp_path: Path) -> None:
    other = make_cli(tmp_path / "restored")
    with running(cli, "--operators", "none") as up:
        assert cli.here("apply", "-f", "-", stdin=OBJECTS).code == 0
        before = everything(cli)
        made = cli("backup", file)
        assert (made.code, made.err) == (0, "")
        assert "objects at revision" in made.out
        assert "verified" in made.out
        nowhere = cli.here("backup", tmp_path / "none" / "a.backup")
        assert (nowhere.code, f'there is no directory "{tmp_path}/none"; create it' in nowhere.err) == (1, True)
        cli("delete", "cm", "plain")
        copy_keys(up.data, tmp_path / "restored")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    summary, source = made.out.splitlines()
    assert cli.here("backup", "--verify", file).out.splitlines()[0] == summary
    assert source == f"  source  {up.data}/homeostat.db"

    done = other("restore", file)
    assert (done.code, done.err) == (0, "")
    restored = re.fullmatch(r"\d+ objects restored; the next revision is (\d+)\noperators are paused .*\n", done.out)
    assert restored is not None, done.out
    assert int(restored[1]) > 1_000_000_000
    with running(other, "--operators", "none") as up:
        assert everything(other) == before
        assert is_gone(up, 5)
        assert is_gone(up, 100_000)


def test_a_store_moves_to_postgresql_and_back(cli: Cli, postgres: Postgres, tmp_path: Path) -> None:
    url, back = postgres.url_at(postgres.port), f"sqlite:///{tmp_path}/back.db"
    with running(cli, "--operators", "none") as up:
        assert cli.here("apply", "-f", "-", stdin=OBJECTS).code == 0
        before = everything(cli)
        database = f"sqlite:///{up.data}/homeostat.db"
        refused = cli("migrate-store", database, url)
        assert (refused.code, refused.out) == (1, "")
        assert "is in use; stop the process that serves it" in refused.err
    moved = cli("migrate-store", database, url)
    assert moved.code == 0
    assert "moved, at revision" in moved.out
    with running(cli, "--operators", "none", "--database", url):
        assert everything(cli) == before
        assert "is in use; stop the planes" in cli("migrate-store", url, back).err
    assert cli("migrate-store", url, back).code == 0
    with running(cli, "--operators", "none", "--database", back):
        assert everything(cli) == before
    assert "is not empty" in cli("migrate-store", back, url).err


def test_postgresql_is_backed_up_while_it_is_served(cli: Cli, file: Path, tmp_path: Path) -> None:
    other = make_cli(tmp_path / "restored")
    with running_postgres() as server, running(cli, "--operators", "none", "--database", server.url) as up:
        assert cli.here("apply", "-f", "-", stdin=OBJECTS).code == 0
        before = everything(cli)
        assert cli("backup", file, "--database", server.url).code == 0
        copy_keys(up.data, tmp_path / "restored")
    assert other("restore", file).code == 0
    with running(other, "--operators", "none"):
        assert everything(other) == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["backup", "b"], 1, "database not found", id="nothing to back up"),
        pytest.param(["backup", "--verify", "b"], 1, "cannot be read: No such file", id="no file to verify"),
        pytest.param(["backup", "b", "--database", "mysql://h/d"], 2, "sqlite:///PATH", id="another database"),
        pytest.param(
            ["backup", "b", "--database", "postgresql://u:hidden@127.0.0.1:1/d"], 1, "127.0.0.1:1/d cannot", id="away"
        ),
        pytest.param(["restore", __file__], 1, "put the seal.key of the plane there", id="no key"),
        pytest.param(["restore", "b"], 2, "does not exist", id="no file to restore"),
        pytest.param(["migrate-store", "sqlite:///a", "b"], 2, "sqlite:///PATH", id="no URL"),
        pytest.param(["migrate-store", "", "sqlite:///a"], 2, "FROM and TO are URLs", id="an empty URL"),
        pytest.param(["migrate-store", "sqlite:///a"], 2, "missing argument", id="one URL"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = cli.here(*arguments)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err
    assert "hidden" not in ended.err
    assert not (tmp_path / "b").exists()
