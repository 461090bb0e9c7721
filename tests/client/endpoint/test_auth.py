"""Credentials that are renewed: token files, exec plugins, and what a 401 makes of them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from homeostat.client.endpoint.auth import Plugin, Shown, TokenFile
from homeostat.client.endpoint.endpoint import Endpoint, ExecPlugin, KubeconfigError
from homeostat.client.endpoint.exec_plugin import parse_credential, run_plugin
from homeostat.client.endpoint.in_cluster import is_in_cluster, load_in_cluster
from homeostat.client.http.transport import HttpTransport, UnreachableError, open_transport
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import serve
from homeostat.objects.json import encode

V1 = "client.authentication.k8s.io/v1"
NOW = 1_767_323_045.0  # 2026-01-02T03:04:05Z


class Clock:
    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def python(script: str, **settings: Any) -> ExecPlugin:
    return ExecPlugin(command=sys.executable, arguments=("-S", "-c", script), **settings)


def counting(path: Path, *, expires: str = "") -> ExecPlugin:
    """Prints the token t1, t2, ... and counts its runs in a file."""
    status = f'"expirationTimestamp": "{expires}", ' if expires else ""
    return python(
        f"import pathlib; p = pathlib.Path({str(path)!r}); p.open('a').write('x'); n = len(p.read_text());"
        f"""print('{{"apiVersion": "{V1}", "kind": "ExecCredential", "status": {{{status}"token": "t%d"}}}}' % n)"""
    )


async def test_a_token_file_is_read_again_after_a_while_and_on_refusal(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    clock = Clock()
    credential = TokenFile(path, Shown("one"), clock=clock)
    path.write_text("two\n")
    assert (await credential.show()).token == "one"
    clock.now = 10
    assert (await credential.show()).token == "two"
    path.write_text("three\n")
    assert (await credential.show(refused=Shown("two"))).token == "three"


@pytest.mark.parametrize("text", [None, "", "\n"])
async def test_a_token_file_that_is_being_replaced_leaves_the_former(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "token"
    if text is not None:
        path.write_text(text)
    credential = TokenFile(path, Shown("one"), clock=Clock())
    assert (await credential.show(refused=Shown("one"))).token == "one"


async def test_a_plugin_runs_once_for_all_and_again_before_it_expires(tmp_path: Path) -> None:
    clock = Clock(NOW)
    plugin = counting(tmp_path / "runs", expires="2026-01-02T04:04:05Z")
    credential = Plugin(plugin, Shown(), environ={}, now=clock, clock=clock)
    shown = await asyncio.gather(*(credential.show() for _ in range(5)))
    assert {each.token for each in shown} == {"t1"}
    clock.now = NOW + 3600 - 11
    assert (await credential.show()).token == "t1"
    clock.now = NOW + 3600 - 9
    assert (await credential.show()).token == "t2"


async def test_a_refusal_renews_but_not_every_one_of_many(tmp_path: Path) -> None:
    clock = Clock(NOW)
    credential = Plugin(
        counting(tmp_path / "runs"), Shown(certificate=b"c", key=b"k"), environ={}, now=clock, clock=clock
    )
    first = await credential.show()
    assert first == Shown("t1", b"c", b"k")
    assert await credential.show(refused=first) == first
    clock.now += 5
    renewed = await asyncio.gather(*(credential.show(refused=first) for _ in range(3)))
    assert {each.token for each in renewed} == {"t2"}


async def test_a_plugin_that_fails_runs_once_for_all(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plugin = python(f"open({str(runs)!r}, 'a').write('x'); raise SystemExit('log in first')")
    credential = Plugin(plugin, Shown(), environ={}, now=Clock(NOW), clock=Clock())
    results = await asyncio.gather(*(credential.show() for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in results] == [KubeconfigError] * 3
    assert runs.read_text() == "x"


async def test_a_plugin_that_worked_before_has_a_bad_moment(tmp_path: Path) -> None:
    clock = Clock(NOW)
    path = tmp_path / "gone" / "runs"
    path.parent.mkdir()
    credential = Plugin(counting(path, expires="2026-01-02T03:05:05Z"), Shown(), environ={}, now=clock, clock=clock)
    await credential.show()
    path.parent.rename(tmp_path / "away")
    clock.now += 60
    with pytest.raises(UnreachableError, match="FileNotFoundError"):
        await credential.show()
    (tmp_path / "away").rename(path.parent)
    clock.now += 5
    assert (await credential.show()).token == "t2"


async def test_a_plugin_runs_again_though_the_clock_on_the_wall_went_back(tmp_path: Path) -> None:
    wall, clock = Clock(NOW), Clock()
    path = tmp_path / "gone" / "runs"
    credential = Plugin(counting(path), Shown(), environ={}, now=wall, clock=clock)
    with pytest.raises(KubeconfigError):
        await credential.show()
    path.parent.mkdir()
    wall.now -= 86_400
    clock.now += 5
    first = await credential.show()
    assert first.token == "t1"
    wall.now -= 86_400
    clock.now += 5
    assert (await credential.show(refused=first)).token == "t2"


async def test_a_plugin_gets_what_is_asked_for() -> None:
    script = (
        "import json, os, sys; e = os.environ;"
        "info = json.loads(e['KUBERNETES_EXEC_INFO']); info['status'] = {'token': "
        "'|'.join([e['A'], e['B'], info['spec']['cluster']['server'], sys.stdin.read()])}; print(json.dumps(info))"
    )
    plugin = python(script, environment=(("B", "own"),), cluster={"server": "https://x"})
    assert (await run_plugin(plugin, environ={"A": "kept", "B": "given"})).token == "kept|own|https://x|"


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        pytest.param(ExecPlugin(command="/nowhere/login", install_hint="install it"), "started.*install it", id="none"),
        pytest.param(python("import sys; sys.exit('log in first')"), "ended with 1: log in first", id="fails"),
        pytest.param(python("print('hello')"), "printed no ExecCredential", id="prints something else"),
        pytest.param(python("import time; time.sleep(9)"), "no credential in 0.5 s", id="never ends"),
    ],
)
async def test_a_plugin_that_fails_says_why(plugin: ExecPlugin, words: str) -> None:
    with pytest.raises(KubeconfigError, match=words):
        await run_plugin(plugin, environ={}, timeout_s=0.5)


@pytest.mark.parametrize(
    ("status", "changes", "words"),
    [
        ({"token": "t"}, {"apiVersion": "other/v1"}, "expected client.authentication.k8s.io/v1"),
        ({"token": "t"}, {"kind": "Status"}, "expected client.authentication.k8s.io/v1 ExecCredential"),
        ({}, {}, "neither a token nor a certificate"),
        ({"clientKeyData": "secret"}, {}, "without its certificate"),
        ({"token": "secret", "expirationTimestamp": "tomorrow"}, {}, "not a time"),
        ({"token": ["secret"]}, {}, "no ExecCredential"),
    ],
)
def test_what_is_no_credential_is_refused_without_showing_it(
    status: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    printed = encode({"apiVersion": V1, "kind": "ExecCredential", "status": status, **changes})
    with pytest.raises(KubeconfigError, match=words) as caught:
        parse_credential(printed, ExecPlugin(command="login"))
    assert "secret" not in str(caught.value)


@asynccontextmanager
async def reached(handler: Callable[[Request], Reply], **settings: Any) -> AsyncIterator[HttpTransport]:
    server = await serve(handler)
    try:
        endpoint = Endpoint(server=f"http://127.0.0.1:{server.port}", **settings)
        async with open_transport(endpoint) as transport:
            yield transport
    finally:
        await server.stop(grace_s=0)


async def test_a_refused_token_is_renewed_and_the_request_sent_once_more(tmp_path: Path) -> None:
    seen: list[str] = []

    def handler(request: Request) -> Reply:
        seen.append(request.headers["authorization"])
        return Reply(200 if seen[-1] == "Bearer new" else 401, b"{}")

    path = tmp_path / "token"
    path.write_text("new")
    async with reached(handler, token="old", token_file=path) as transport:
        assert (await transport.send("POST", "/", body=b"{}")).status == 200
        path.write_text("worse")
        assert seen == ["Bearer old", "Bearer new"]
    async with reached(handler, token="old", token_file=path) as transport:
        answer = await transport.stream("/")
    assert seen[2:] == ["Bearer old", "Bearer worse"]
    assert getattr(answer, "status", None) == 401


async def test_a_request_is_made_in_the_name_of_another() -> None:
    seen: list[list[str]] = []

    def handler(request: Request) -> Reply:
        names = ("impersonate-user", "impersonate-group")
        seen.append([value for name in names for value in request.headers.get_all(name)])
        return Reply(200, b"{}")

    impersonation = (("Impersonate-User", "jane"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    async with reached(handler, impersonation=impersonation) as transport:
        await transport.send("GET", "/")
    assert seen == [["jane", "a", "b"]]


def test_a_pod_finds_its_server_and_account(tmp_path: Path) -> None:
    for name, text in (("token", "t\n"), ("ca.crt", "ca"), ("namespace", "shop\n")):
        (tmp_path / name).write_text(text)
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    assert is_in_cluster(environ, directory=tmp_path)
    assert load_in_cluster(environ, directory=tmp_path) == Endpoint(
        server="https://[fd00::1]:6443",
        namespace="shop",
        authority=b"ca",
        token="t",
        token_file=tmp_path / "token",
    )


@pytest.mark.parametrize(
    ("environ", "words"),
    [({}, "not in a cluster"), ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "automountServiceAccountToken")],
)
def test_what_a_pod_lacks_is_reported(tmp_path: Path, environ: dict[str, str], words: str) -> None:
    assert not is_in_cluster(environ, directory=tmp_path)
    with pytest.raises(KubeconfigError, match=words):
        load_in_cluster(environ, directory=tmp_path)
