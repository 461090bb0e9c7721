"""`homeostat contract doc`: Markdown, a site, and both served."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest

from tests.cli.contract.workspace import Workspace
from tests.cli.running import HOMEOSTAT


@pytest.fixture
def mill(bare: Workspace) -> Workspace:
    assert bare.run("init", "mill").code == 0
    return bare


def test_markdown_is_printed(mill: Workspace) -> None:
    out = mill.run("doc", "mill").out
    assert out.startswith("# mill\n\n**mill** `0.1.0` is a stateless service workload with 1 interface.")
    assert "| `GET` | `/health` |" in out
    assert mill.run("doc", "mill", "--output-format", "json").json == {
        "serviceName": "mill",
        "markdown": out,
        "path": "",
    }


def test_markdown_is_written_to_a_directory(mill: Workspace) -> None:
    assert mill.run("doc", "mill", "-o", "out/docs").out == "Wrote out/docs/mill.md\n"
    assert (mill.directory / "out/docs/mill.md").read_text() == mill.run("doc", "mill").out


def test_a_site_is_written_as_pages(mill: Workspace) -> None:
    assert mill.run("doc", "mill", "-o", "site.html").out == "Wrote site/index.html\n"
    names = sorted(each.name for each in (mill.directory / "site").iterdir())
    assert names == ["contract.html", "index.html", "interface-api.html"]


def test_overrides_and_missing_dependencies_show(mill: Workspace) -> None:
    text = (mill.directory / "mill/pacto.yaml").read_text()
    more = 'dependencies: [{name: weir, ref: "oci://127.0.0.1:1/weir:1", compatibility: "*"}]\n'
    mill.write({"mill/pacto.yaml": text + more})
    out = mill.run("doc", "mill", "--set", "service.version=9.9.9").out
    assert "`9.9.9`" in out
    assert "oci://127.0.0.1:1/weir:1" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-o", "x", "--serve"), "exclude each other"),
        (("--serve", "--ui", "swagger"), "exclude each other"),
        (("--interface", "api"), "are options of --ui"),
        (("--target", "http://x"), "are options of --ui"),
        (("--ui", "swagger", "--interface", "none"), "there are api"),
    ],
)
def test_options_that_exclude_each_other_are_refused(mill: Workspace, arguments: tuple[str, ...], says: str) -> None:
    done = mill.run("doc", "mill", *arguments)
    code = 1 if says == "there are api" else 2
    assert (done.code, says in done.err) == (code, True)


@contextmanager
def _served(space: Workspace, *arguments: str) -> Iterator[int]:
    process = subprocess.Popen(
        [HOMEOSTAT, "contract", "doc", "mill", "--port", "0", *arguments],
        cwd=space.directory,
        env=space.environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/$", said.strip())
        assert found, said
        yield int(found[1])
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def _get(port: int, path: str, method: str = "GET", host: str = "") -> tuple[int, str, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, headers={"Host": host} if host else {})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text, response.headers.get("Content-Security-Policy", "")


def test_the_site_is_served_to_this_machine_alone(mill: Workspace) -> None:
    with _served(mill, "--serve") as port:
        status, text, policy = _get(port, "/")
        assert (status, "At a glance" in text, policy.startswith("default-src 'none'")) == (200, True, True)
        assert _get(port, "/interface-api.html")[0] == 200
        assert _get(port, "/../pacto.yaml")[0] == 404
        assert _get(port, "/", "POST")[0] == 405
        assert _get(port, "/", host="evil.example")[0] == 403


def test_one_interface_is_served_with_calls_of_a_target(mill: Workspace) -> None:
    with _served(mill, "--ui", "swagger", "--target", "https://mill.example") as port:
        assert "curl https://mill.example/health" in _get(port, "/")[1]


def test_a_port_in_use_is_a_failure_that_says_so(mill: Workspace) -> None:
    with _served(mill, "--serve") as port:
        done = mill.shell("doc", "mill", "--serve", "--port", str(port))
        assert (done.code, "is in use; choose another with --port" in done.err) == (1, True)
