"""The head of a branch without a `git` process, and with one where that is not possible."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.external.git.access import Remote
from homeostat.external.git.advertisement import PacketError, branch_head, packet, packets
from homeostat.external.git.cache import GitCache
from homeostat.external.git.errors import AuthenticationError, MissingRefError, UnreachableError
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from tests.external.git_servers import Origin, serving_git


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


@given(st.lists(st.binary(max_size=50)))
def test_packets_are_read_as_they_were_written(texts: list[bytes]) -> None:
    assert list(packets(b"0000".join(map(packet, texts)) + b"0000")) == texts


@pytest.mark.parametrize("data", [b"00", b"zzzz", b"0003", b"0010abc", b"-001"])
def test_what_is_not_a_packet_is_refused(data: bytes) -> None:
    with pytest.raises(PacketError):
        list(packets(data))
