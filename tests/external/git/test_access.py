"""Servers are reached with the credentials given and no others, and credentials show up nowhere."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from homeostat.external.git.access import Remote, check_remote
from homeostat.external.git.cache import GitCache
from homeostat.external.git.errors import (
    AuthenticationError,
    GitAddressError,
    GitError,
    GitTimeoutError,
    HostKeyError,
    UnreachableError,
    failure,
)
from homeostat.external.process import Finished
from homeostat.external.secrets.credentials import BasicAuth, BearerToken, SshKey
from tests.external.git.opened import Open, files
from tests.external.git_servers import Origin, Sshd, serving_git
from tests.external.servers import own_authority, tunnelling


async def test_a_token_is_sent_and_shows_up_nowhere(cache: Path, open_git: Open, origin: Origin) -> None:
    commit = origin.commit({"x": "1"})
    async with serving_git(origin.path.parent, "s3cret-token") as (_, url):
        remote = Remote(f"{url}/shop.git", BasicAuth("git", "s3cret-token"))
        assert await (await open_git(remote)).fetch("main") == commit
        assert "s3cret" not in repr(remote)
        wrong = await open_git(Remote(f"{url}/shop.git", BasicAuth("git", "wr0ng-token")))
        with pytest.raises(AuthenticationError, match="the server refused the credentials") as error:
            await wrong.fetch("main")
        none = await open_git(Remote(f"{url}/shop.git"))
        with pytest.raises(AuthenticationError, match="or requires some"):
            await none.fetch("main")
    assert "wr0ng" not in str(error.value)
    assert not [each for each in files(cache) if b"s3cret" in each.read_bytes()]


async def test_a_token_is_in_no_arguments_of_a_process(open_git: Open, origin: Origin) -> None:
    origin.commit({"x": "1"})
    async with serving_git(origin.path.parent, "s3cret-token") as (server, url):
        server.held = asyncio.Event()
        repository = await open_git(Remote(f"{url}/shop.git", BasicAuth("git", "s3cret-token")))
        fetching = asyncio.create_task(repository.fetch("main"))
        await server.arrived.wait()
        lines = _command_lines()
        server.held.set()
        await fetching
    assert any(b"ls-remote" in each for each in lines)
    assert not any(b"s3cret" in each for each in lines)


async def test_over_tls_the_authority_is_the_machine_s_unless_given(
    open_git: Open, origin: Origin, tmp_path: Path
) -> None:
    commit = origin.commit({"x": "1"})
    tls, authority = own_authority(tmp_path)
    async with serving_git(origin.path.parent, "t0ken", tls) as (_, url):
        untrusted = await open_git(Remote(f"{url}/shop.git", BasicAuth("git", "t0ken")))
        with pytest.raises(UnreachableError, match="certificate"):
            await untrusted.fetch("main")
        trusted = await open_git(Remote(f"{url}/shop.git", BasicAuth("git", "t0ken"), authority))
        assert await trusted.fetch("main") == commit


async def test_a_proxy_is_used_with_its_credentials(open_git: Open, origin: Origin, tmp_path: Path) -> None:
    commit = origin.commit({"x": "1"})
    tls, authority = own_authority(tmp_path)
    async with serving_git(origin.path.parent, "", tls) as (_, url), tunnelling("user", "pr0xy") as proxy:
        through = Remote(f"{url}/shop.git", authority=authority, proxy=proxy.url("user", "pr0xy"))
        assert await (await open_git(through)).fetch("main") == commit
        assert proxy.targets
        assert set(proxy.targets) == {url.removeprefix("https://")}
        refused = Remote(f"{url}/shop.git", authority=authority, proxy=proxy.url("user", "wr0ng"), identity="other")
        with pytest.raises(GitError) as error:
            await (await open_git(refused)).fetch("main")
    assert "wr0ng" not in f"{error.value}{refused!r}"


@pytest.mark.parametrize("proxy", ["http://169.254.169.254", "https://u:pr0xy@[fe80::1]:80", "http://2852039166"])
async def test_a_metadata_service_is_not_a_proxy(open_git: Open, proxy: str) -> None:
    repository = await open_git(Remote("http://git.example/shop.git", proxy=proxy))
    with pytest.raises(GitAddressError, match="link-local address or a cloud's metadata service") as error:
        await repository.fetch("main")
    assert "pr0xy" not in str(error.value)


async def test_a_token_does_not_follow_a_redirect(open_git: Open, origin: Origin) -> None:
    origin.commit({"x": "1"})
    async with serving_git(origin.path.parent) as (elsewhere, far), serving_git(origin.path.parent) as (server, near):
        server.redirect = far
        with_token = await open_git(Remote(f"{near}/shop.git", BasicAuth("git", "t")))
        with pytest.raises(GitError):
            await with_token.fetch("main")
        assert elsewhere.requests == []
        await (await open_git(Remote(f"{near}/shop.git"))).fetch("main")


async def test_over_ssh_the_key_counts_and_the_host_must_be_known(
    cache: Path, open_git: Open, origin: Origin, sshd: Sshd, tmp_path: Path
) -> None:
    commit = origin.commit({"x": "1"})
    url = sshd.remote(origin.path).url
    repository = await open_git(Remote(url, SshKey(sshd.private_key.rstrip(), sshd.known_hosts)))
    assert await repository.fetch("main") == commit
    assert await repository.at(commit).file("x") == b"1"
    assert not [each for each in files(cache) if b"PRIVATE KEY" in each.read_bytes()]
    kind, key = sshd.known_hosts.split()[1:3]
    other = f"[127.0.0.1]:{sshd.port} {kind} {key[:-6]}AAAAAA\n"
    for known in (other, "example.org ssh-ed25519 AAAA\n"):
        stranger = await open_git(Remote(url, SshKey(sshd.private_key, known)))
        with pytest.raises(HostKeyError, match="check the known hosts"):
            await stranger.fetch("main")
    careless = await open_git(Remote(url, SshKey(sshd.private_key), accepts_any_host=True))
    assert await careless.fetch("main") == commit
    wrong = await open_git(Remote(url, SshKey(_new_key(tmp_path, ""), sshd.known_hosts)))
    with pytest.raises(AuthenticationError, match="Permission denied"):
        await wrong.fetch("main")
    # The server drops logins that come all at once.
    heads = GitCache(cache)
    asked = (heads.resolve(sshd.remote(origin.path), "refs/heads/main") for _ in range(12))
    assert set(await asyncio.gather(*asked)) == {commit}


async def test_a_key_with_a_passphrase_is_opened(open_git: Open, origin: Origin, sshd: Sshd, tmp_path: Path) -> None:
    commit = origin.commit({"x": "1"})
    key = _new_key(tmp_path, "0pen sesame$")
    sshd.authorize((tmp_path / "key.pub").read_text())
    url = sshd.remote(origin.path).url
    repository = await open_git(Remote(url, SshKey(key, sshd.known_hosts, passphrase="0pen sesame$")))
    assert await repository.fetch("main") == commit
    for passphrase in ("wr0ng", ""):
        closed = await open_git(Remote(url, SshKey(key, sshd.known_hosts, passphrase=passphrase), identity=passphrase))
        with pytest.raises(AuthenticationError) as error:
            await closed.fetch("main")
        assert "wr0ng" not in str(error.value)


async def test_a_server_that_hangs_is_given_up(open_git: Open, origin: Origin) -> None:
    async with serving_git(origin.path.parent) as (server, url):
        server.held = asyncio.Event()
        await open_git(Remote(f"{url}/shop.git"))
        repository = await open_git(Remote(f"{url}/shop.git"), timeout_s=0.2)
        with pytest.raises(GitTimeoutError, match=r"timed out after 0\.2 s"):
            await repository.fetch("main")
        server.held.set()


async def test_a_server_that_is_not_there_is_unreachable(open_git: Open) -> None:
    with pytest.raises(UnreachableError):
        await (await open_git(Remote("http://127.0.0.1:9/x.git"))).fetch("main")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("file:///etc", 'protocol "file"; allowed are: http, https, ssh'),
        ("/etc", "has no host"),
        ("ext::sh -c id", "contains a space"),
        ("ext::id", "has no host|requires an SSH key"),
        ("https://me:pass@host/x", "give them as a secret"),
        ("git@host:x", "requires an SSH key"),
        ("--upload-pack=id", "has no host"),
        ("ssh://-oProxyCommand=id/x", "starts with a dash"),
        ("ssh://-oProxyCommand=id@host/x", "starts with a dash"),
        ("-v@host:x", "has no host"),
        ("git://host/x", 'protocol "git"'),
        ("https://host/x\n", "control character"),
        ("https://[::1/x", "URL is invalid"),
    ],
)
def test_urls_that_are_refused(url: str, told: str) -> None:
    with pytest.raises(GitAddressError, match=told):
        check_remote(Remote(url))


@pytest.mark.parametrize(
    ("remote", "told"),
    [
        (Remote("git@host:x", SshKey("k", " ")), "known hosts are required"),
        (Remote("git@host:x", BasicAuth("git", "t")), "give an SSH key"),
        (Remote("https://host/x", SshKey("k", "h")), "give a token"),
        (Remote("https://host/x", BearerToken("t\nX-Evil: 1")), "line break"),
        (Remote("https://host/x", BasicAuth("a:b", "t")), "colon"),
        (Remote("git@host:x", SshKey("k", "h"), proxy="http://proxy"), "proxies are for http"),
    ],
)
def test_credentials_that_do_not_match_are_refused(remote: Remote, told: str) -> None:
    with pytest.raises(GitAddressError, match=told):
        check_remote(remote)


def test_a_server_cannot_pretend_a_failure_by_what_it_prints() -> None:
    done = Finished(128, b"", b"remote: fatal: Authentication failed\nfatal: \x1b[31mprotocol error\x07: t0ken\n")
    error = failure("fetch", done, ["t0ken"])
    assert (type(error), str(error)) == (GitError, "git fetch: fatal:  [31mprotocol error : ***")


def _command_lines() -> list[bytes]:
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(each.read_bytes())
    return found


def _new_key(folder: Path, passphrase: str) -> str:
    path = folder / "key"
    path.unlink(missing_ok=True)
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "x", "-f", str(path)]
    subprocess.run(command, check=True, timeout=30)
    return path.read_text()


@pytest.mark.timeout(30)
@pytest.mark.parametrize("words", [b"permission to ", b"repository 'x' "])
def test_a_long_line_of_a_hostile_server_is_read_up_to_a_limit(words: bytes) -> None:
    """A sign with a gap in it was searched from every start to the end of the line: half a minute for 300 kB."""
    error = failure("fetch", Finished(1, b"", words * 300_000 + b"\nfatal: Authentication failed"))
    assert isinstance(error, AuthenticationError)
    assert len(str(error)) < 1000
