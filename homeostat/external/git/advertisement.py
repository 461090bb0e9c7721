"""The head of a branch over Git's HTTP protocol, without a `git` process: two small requests on a kept connection.

It is the second version of the protocol, in which the server lists only the refs that are asked for; a server that
knows only the first version lists all in its first response. Whatever is not plainly a commit is None here, and `git`
itself is asked: it knows redirects, other hashes and how to report errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from homeostat.external.git.access import Remote
from homeostat.external.git.snapshot import computed
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import RestError
from homeostat.external.rest.request import Request
from homeostat.external.secrets.credentials import BasicAuth, BearerToken

_LARGEST: Final = 8 << 20
_TIMEOUT_S: Final = 30.0
_VERSION: Final = {"Git-Protocol": "version=2", "User-Agent": "git/homeostat"}
_ADVERTISEMENT: Final = "application/x-git-upload-pack-advertisement"
_RESULT: Final = "application/x-git-upload-pack-result"
_is_length = re.compile(rb"[0-9A-Fa-f]{4}", re.ASCII).fullmatch
_is_commit = re.compile(rb"[0-9a-f]{40}", re.ASCII).fullmatch


class PacketError(ValueError):
    """The response is not of Git's protocol."""


def is_readable(remote: Remote) -> bool:
    """Whether the remote is reached by HTTP, without settings that only `git` applies."""
    return urlsplit(remote.url).scheme in ("http", "https") and not remote.proxy and not remote.authority


async def branch_head(client: RestClient, remote: Remote, ref: str) -> str | None:
    """The commit of a full ref such as `refs/heads/main`; None if `git` has to be asked."""
    url, name = remote.url.rstrip("/"), ref.encode()
    headers = dict(_VERSION)
    if isinstance(remote.access, BasicAuth | BearerToken):
        headers["Authorization"] = remote.access.header
    ask = Request(
        "GET", f"{url}/info/refs?service=git-upload-pack", headers=headers, timeout_s=_TIMEOUT_S, largest=_LARGEST
    )
    try:
        answer = await client.send(ask)
        if answer.status != 200 or answer.headers.get("content-type") != _ADVERTISEMENT:
            return None
        offered = await computed(lambda: _offered(answer.body, name), len(answer.body))
        if not offered.lists_refs:
            return offered.commit
        more = {"Content-Type": "application/x-git-upload-pack-request", "Accept": _RESULT}
        body = b"".join((packet(b"command=ls-refs\n"), b"0001", packet(b"ref-prefix " + name + b"\n"), b"0000"))
        listed = await client.send(
            Request(
                *("POST", f"{url}/git-upload-pack"),
                headers=headers | more,
                body=body,
                timeout_s=_TIMEOUT_S,
                largest=_LARGEST,
                idempotent=True,
            )
        )
        if listed.status != 200 or listed.headers.get("content-type") != _RESULT:
            return None
        return await computed(lambda: _found(_lines(listed.body), name), len(listed.body))
    except (RestError, PacketError):
        return None


class _Offered(NamedTuple):
    lists_refs: bool
    """Whether it is the second version of the protocol, the server lists refs, and its commits have ids of SHA-1."""
    commit: str | None = None
    """Of the ref, by the first version."""


def _offered(body: bytes, name: bytes) -> _Offered:
    lines = _lines(body)
    first = list(islice(lines, 2))
    if b"version 2" not in first:
        return _Offered(lists_refs=False, commit=_found(chain(first, lines), name))
    lists_refs = is_other = False
    for line in chain(first, lines):
        word, _, value = line.partition(b"=")
        lists_refs |= word == b"ls-refs"
        is_other |= word == b"object-format" and value != b"sha1"
    return _Offered(lists_refs=lists_refs and not is_other)


def _lines(body: bytes) -> Iterator[bytes]:
    return (each.rstrip(b"\n") for each in packets(body))


def _found(lines: Iterable[bytes], name: bytes) -> str | None:
    for line in lines:
        commit, _, rest = line.partition(b" ")
        # The first line of the first version ends with what the server can, and others may end with attributes.
        if rest.partition(b"\0")[0].partition(b" ")[0] == name and _is_commit(commit):
            return commit.decode()
    return None


def packet(text: bytes) -> bytes:
    return f"{len(text) + 4:04x}".encode() + text


def packets(data: bytes) -> Iterator[bytes]:
    """The texts of a response, without its flushes and delimiters; `PacketError` if it is cut off or something else."""
    at = 0
    while at < len(data):
        if not _is_length(head := data[at : at + 4]):
            raise PacketError("a packet has no length")
        length = int(head, 16)
        if length in (0, 1, 2):
            at += 4
            continue
        if length < 4 or at + length > len(data):
            raise PacketError("a packet is cut off")
        yield data[at + 4 : at + length]
        at += length
