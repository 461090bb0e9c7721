"""The tutorial of plugins shows a package as it is; built, installed and run, the package does what it says."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from shutil import copytree, ignore_patterns
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.cli.running import Cli, Ended, make_cli, running
from tests.docs.documents import EXAMPLES, text_of
from tests.postgres import Postgres, find_programs, running_postgres
from tests.processes import path_for_shells

_TEXT = text_of("docs/plugin-tutorial.md")
_PACKAGE = EXAMPLES / "postgres-roles"
_PASSWORD = "correct-horse"
_UV = str(Path(sys.executable).with_name("uv"))
_fences = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_whole = re.compile(r"^`([\w/.-]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ours = re.compile(r"^(?:docker|pip|homeostat up|POSTGRES_URL)")


def _files() -> dict[str, str]:
    found = (path for path in _PACKAGE.rglob("*") if path.suffix in {".py", ".toml", ".yaml"})
    return {str(path.relative_to(_PACKAGE)): path.read_text() for path in found}


def test_every_file_is_shown_whole_but_the_tests() -> None:
    wanted = {name: text for name, text in _files().items() if not name.startswith("tests/")}
    del wanted["postgres_roles/__init__.py"]
    assert dict(_whole.findall(_TEXT)) == wanted


def test_what_is_shown_stands_in_the_package() -> None:
    shown = [code for language, code in _fences.findall(_TEXT) if language not in {"sh", "text"}]
    texts = [*_files().values(), (EXAMPLES / "postgres-cluster/postgres_cluster/plugin.py").read_text()]
    assert [code for code in shown if not any(code in text for text in texts)] == []


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        asyncio.run(_make_superuser(server.url))
        yield server


async def _make_superuser(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(f"CREATE ROLE postgres SUPERUSER LOGIN PASSWORD '{_PASSWORD}'")
    await connection.close()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> Path:
    """A copy of it, whose type leads to the server of the tests, and that is slow to try again."""
    copy = Path(copytree(_PACKAGE, tmp_path_factory.mktemp("own") / "roles", ignore=ignore_patterns("__pycache__")))
    kind = copy / "type.yaml"
    kind.write_text(
        kind.read_text().replace(":5432/", f":{postgres.port}/").replace("baseSeconds: 5,", "baseSeconds: 50,")
    )
    return copy


@pytest.fixture(scope="module")
def programs(package: Path) -> Path:
    """Those of an environment with the package and all that the tests run with."""
    environment = package.parent / "venv"
    _uv("venv", "-q", "--python", sys.executable, str(environment))
    ours = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})"
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "of_the_tests.pth").write_text(ours)
    _uv("pip", "install", "-q", "--no-deps", "--python", str(environment), "-e", str(package))
    script = environment / "bin" / "homeostat"
    script.write_text(f"#!{environment}/bin/python\nfrom homeostat.cli.main import main\nmain()\n")
    script.chmod(0o755)
    return environment / "bin"


def _uv(*arguments: str) -> None:
    """Without the network where that will do, and it will where Homeostat itself was built: the same is needed."""
    for reach in (["--offline"], []):
        done = subprocess.run([_UV, *arguments, *reach], capture_output=True, text=True, timeout=50)
        if done.returncode == 0:
            return
    raise AssertionError(done.stderr)


def test_the_wheel_has_the_plugin_and_its_entry_point(package: Path, tmp_path: Path) -> None:
    _uv("build", "-q", "--wheel", "--out-dir", str(tmp_path), str(package))
    (wheel,) = tmp_path.glob("*.whl")
    _uv("pip", "install", "-q", "--no-deps", "--target", str(tmp_path / "to"), str(wheel))
    (points,) = (tmp_path / "to").glob("*.dist-info/entry_points.txt")
    assert "[homeostat.reconcilers]\npostgres_roles = postgres_roles.plugin:PostgresRoles" in points.read_text()
    assert {path.name for path in (tmp_path / "to" / "postgres_roles").glob("*.py")} == {
        path.name for path in (_PACKAGE / "postgres_roles").glob("*.py")
    }


def test_the_tests_of_the_package_pass(package: Path, programs: Path, postgres: Postgres) -> None:
    server = urlsplit(postgres.url_at(postgres.port))
    command = [str(programs / "python"), "-m", "pytest", "-p", "asyncio", "-p", "no:cacheprovider", "-q"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "POSTGRES_URL": server.geturl()}
    done = subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


class _Session:
    """Lines typed one after the other, in the directory of the package."""

    def __init__(self, cli: Cli, directory: Path, port: int) -> None:
        self._cli, self._directory, self._port = cli, directory, port

    def type(self, line: str) -> str:
        # `plan` runs the plugin itself; what only asks the plane is forked, which starts sooner.
        path = self._cli.environment["PATH"] if " plan " in line else f"{find_programs()}:{path_for_shells()}"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=self._directory,
            env={**self._cli.environment, "PATH": path},
            capture_output=True,
            text=True,
            timeout=40,
        )
        ended = Ended(done.returncode, done.stdout, done.stderr)
        assert ended.code == ("# ends with 1" in line), (line, ended)
        return (ended.out + ended.err).replace(f":{self._port}/", ":5432/")


def _plain(text: str) -> set[str]:
    """The lines without widths of columns, and with times that are the same."""
    aged = (re.sub(r"\b\d+s\b", "1s", re.sub(r"[ \t]+", " ", line)) for line in text.splitlines())
    return {re.sub(r" [\d.]+$", " 0", line.strip()) for line in aged}


def test_the_session_is_as_documented(tmp_path: Path, package: Path, programs: Path, postgres: Postgres) -> None:
    own = make_cli(tmp_path / "data")
    server = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": "postgres", "PGPASSWORD": _PASSWORD}
    path = f"{programs}:{find_programs()}:{os.environ['PATH']}"
    environment = {**own.environment, **server, "PATH": path, "HOMEOSTAT_SECRET_POSTGRES": _PASSWORD}
    cli = Cli(environment, str(programs / "homeostat"))
    session = _Session(cli, package, postgres.port)
    with running(cli, "--faces-port", "0"):
        fences = [*_fences.findall(_TEXT.partition("## A plugin over other plugins")[0]), ("", "")]
        for (language, code), (following, told) in pairwise(fences):
            lines = [line for line in code.splitlines() if language == "sh" and not _ours.match(line)]
            printed = [session.type(line) for line in lines]
            if printed and following == "text":
                assert _plain(told) - _plain(printed[-1]) == set()
