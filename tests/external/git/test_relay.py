"""`git` connects to no address that the rule refuses: by HTTP, by redirects, by ssh."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from homeostat.external.git.access import Remote
from homeostat.external.git.errors import DumbServerError, GitAddressError, UnreachableError
from homeostat.external.git.relay import Relay
from homeostat.external.secrets.credentials import SshKey
from tests.external.git.opened import Open
from tests.external.git_servers import Origin, serving_git
from tests.external.servers import serving
from tests.ports import free_port

METADATA = "169.254.169.254"
KEY = SshKey("-----BEGIN OPENSSH PRIVATE KEY-----", f"{METADATA} ssh-ed25519 AAAA")


@pytest.mark.parametrize(
    "remote",
    [
        Remote(f"http://{METADATA}/latest/meta-data"),
        Remote(f"https://{METADATA}/shop.git"),
        Remote("http://[::ffff:169.254.169.254]/shop.git"),
        Remote("http://0xa9fea9fe/shop.git"),
        Remote(f"ssh://git@{METADATA}/shop.git", KEY),
        Remote(f"git@{METADATA}:shop.git", KEY),
        Remote(f"ssh://git@{METADATA}:2222/shop.git", KEY),
    ],
    ids=lambda each: each.url,
)
async def test_a_metadata_service_is_not_connected_to(open_git: Open, remote: Remote) -> None:
    with pytest.raises(GitAddressError, match="link-local address or a cloud's metadata service"):
        await (await open_git(remote, timeout_s=20)).fetch("main")


async def test_a_redirect_to_a_metadata_service_is_not_followed(open_git: Open) -> None:
    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": f"http://{METADATA}{request.path_qs}"})

    async with serving(redirect) as url:
        with pytest.raises(GitAddressError, match="link-local"):
            await (await open_git(Remote(f"{url}/shop.git"), timeout_s=20)).fetch("main")


async def test_a_server_of_plain_files_is_refused_at_once(open_git: Open, origin: Origin) -> None:
    origin.commit({"x": "1"})
    origin.git("update-server-info")
    asked: list[str] = []

    async def file(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        path = origin.path / ".git" / request.path.removeprefix("/shop.git/")
        return web.FileResponse(path) if path.is_file() else web.Response(status=404)

    async with serving(file) as url:
        with pytest.raises(DumbServerError, match="smart HTTP"):
            await (await open_git(Remote(f"{url}/shop.git"))).fetch("main")
    assert not [each for each in asked if "/objects/" in each]
    assert len(asked) < 10


async def test_through_the_relay_a_repository_is_fetched(open_git: Open, origin: Origin) -> None:
    commit = origin.commit({"large": "x" * 100_000})
    async with serving_git(origin.path.parent, "") as (_, url):
        repository = await open_git(Remote(f"{url}/shop.git"))
        assert await repository.fetch("main") == commit
        assert await repository.at(commit).file("large") == b"x" * 100_000


async def test_a_refused_connection_names_host_and_reason(open_git: Open) -> None:
    free = free_port()
    with pytest.raises(UnreachableError, match=rf"cannot connect to 127.0.0.1:{free}: .*refused.*; check the URL"):
        await (await open_git(Remote(f"http://127.0.0.1:{free}/shop.git"))).fetch("main")


async def test_without_its_credentials_nobody_uses_the_relay() -> None:
    async with Relay().running() as relay:
        port = int(relay.url.rpartition(":")[2])
        for hello in (b"\x05\x01\x00", b"\x05\x01\x02\x01\x04root\x04root", b"GET / HTTP/1.1\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(hello)
            writer.write(b"\x05\x01\x00\x01\x7f\x00\x00\x01" + port.to_bytes(2, "big"))
            async with asyncio.timeout(30):
                answer = await reader.read()
            assert b"\x05\x00\x00\x01" not in answer
            writer.close()


async def test_the_relay_ends_with_its_block(tmp_path: Path) -> None:
    async with Relay().running() as relay:
        port = int(relay.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(30):
        assert await reader.read() == b""
    writer.close()
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port)
