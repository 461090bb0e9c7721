"""The head of a branch without a `git` process, and with one where that is not possible."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import serve
from homeostat.external.git.access import Remote
from homeostat.external.git.advertisement import PacketError, branch_head, packet, packets
from homeostat.external.git.cache import GitCache
from homeostat.external.git.errors import AuthenticationError, MissingRefError, UnreachableError
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from tests.external.git_servers import Origin, serving_git
from tests.holds import measured_turns


@pytest.mark.parametrize("is_old", [False, True], ids=["second version", "first version"])
async def test_the_head_of_a_branch_is_read_by_http(origin: Origin, cache: Path, is_old: bool) -> None:
    head = origin.commit({"a": "1"})
    origin.git("branch", "main-2")
    other = origin.commit({"a": "2"})
    async with serving_git(origin.path.parent, "hunter2") as (server, url), RestClient() as rest:
        server.is_old = is_old
        remote = Remote(f"{url}/{origin.path.name}", BasicAuth("git", "hunter2"))
        assert await branch_head(rest, remote, "refs/heads/main") == other
        assert await branch_head(rest, remote, "refs/heads/main-2") == head
        assert await branch_head(rest, remote, "refs/heads/mai") is None
        assert server.requests.count(f"/{origin.path.name}/info/refs") == 3
        caches = GitCache(cache, rest=rest)
        assert await caches.resolve(remote, "refs/heads/main") == other
        with pytest.raises(MissingRefError):
            await caches.resolve(remote, "refs/heads/none")
        with pytest.raises(AuthenticationError):
            await caches.resolve(Remote(remote.url, BasicAuth("git", "wrong")), "refs/heads/main")
        with pytest.raises(UnreachableError):
            await caches.resolve(Remote("http://127.0.0.1:1/x.git"), "refs/heads/main")


@pytest.mark.parametrize("part", [b"0005x", b"0000"], ids=["small packets", "flushes"])
async def test_a_response_of_many_packets_does_not_hold_the_event_loop(part: bytes) -> None:
    body = part * ((2 << 20) // len(part))

    async def answer(request: Request) -> Reply:
        return Reply(200, body, "application/x-git-upload-pack-advertisement")

    server = await serve(answer)
    try:
        async with RestClient() as rest, measured_turns() as turns:
            remote = Remote(f"http://127.0.0.1:{server.port}/x.git")
            assert await branch_head(rest, remote, "refs/heads/main") is None
    finally:
        await server.stop(grace_s=1.0)
    assert turns.longest_s < 0.1


@given(st.lists(st.binary(max_size=50)))
def test_packets_are_read_as_they_were_written(texts: list[bytes]) -> None:
    assert list(packets(b"0000".join(map(packet, texts)) + b"0000")) == texts


@pytest.mark.parametrize("data", [b"00", b"zzzz", b"0003", b"0010abc", b"-001"])
def test_what_is_not_a_packet_is_refused(data: bytes) -> None:
    with pytest.raises(PacketError):
        list(packets(data))
