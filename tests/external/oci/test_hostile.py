"""A registry that misbehaves gets an error, and neither memory, time nor credentials."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from aiohttp import web

from homeostat.external.oci.auth import Challenge, OneCredential, parse_challenges
from homeostat.external.oci.digest import digest_of
from homeostat.external.oci.errors import (
    DeniedError,
    DigestMismatchError,
    InvalidManifestError,
    InvalidReferenceError,
    OciError,
    RateLimitedError,
    TooLargeError,
    UnauthorizedError,
    UnexpectedResponseError,
    UnreachableError,
)
from homeostat.external.oci.manifest import (
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    Index,
    Manifest,
    encode_manifest,
    parse_manifest,
)
from homeostat.external.oci.push import push_blob
from homeostat.external.oci.registry import Registry, RegistryLimits, parse_reference
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.external.secrets.docker_config import CredentialHelperError, RegistryCredential, parse_docker_config
from homeostat.testing.eventually import eventually
from tests.external.servers import Handler, serving
from tests.holds import measured_turns

ANN = OneCredential(RegistryCredential(basic=BasicAuth("ann", "s3cret")))
SOUND = encode_manifest(Manifest(layers=(Descriptor("x", digest_of(b"layer"), 5),)))

Host = Callable[[Handler], Awaitable[str]]


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with AsyncExitStack() as running:

        async def host(handler: Handler) -> str:
            return (await running.enter_async_context(serving(handler))).removeprefix("http://")

        yield host


def answers(**options: object) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(**options)  # type: ignore[arg-type]

    return answer


async def test_a_manifest_of_another_digest_is_refused(client: RestClient, host: Host) -> None:
    at = await host(answers(body=SOUND, content_type=OCI_MANIFEST))
    registry = Registry(client)
    assert await registry.manifest(f"{at}/x@{digest_of(SOUND)}")
    with pytest.raises(DigestMismatchError):
        await registry.manifest(f"{at}/x@{digest_of(b'other')}")
    lying = await host(answers(body=SOUND, headers={"Docker-Content-Digest": digest_of(b"other")}))
    with pytest.raises(DigestMismatchError):
        await registry.manifest(f"{lying}/x:1")


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
async def test_a_blob_of_another_digest_leaves_no_file(
    client: RestClient, host: Host, tmp_path: Path, algorithm: str
) -> None:
    at = await host(answers(body=b"evil!"))
    digest = f"{algorithm}:{'0' * (64 if algorithm == 'sha256' else 128)}"
    with pytest.raises(DigestMismatchError, match=f"{algorithm}:"):
        await Registry(client).download(f"{at}/x", Descriptor("x", digest, 5), tmp_path / "blob")
    assert os.listdir(tmp_path) == []


async def test_an_endless_body_is_given_up(client: RestClient, host: Host) -> None:
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)
            sent += 65536

    at = await host(endless)
    registry = Registry(client, limits=RegistryLimits(manifest_bytes=1 << 20, memory_bytes=1 << 20))
    for asked in (
        registry.manifest(f"{at}/x:1"),
        registry.tags(f"{at}/x"),
        registry.blob(f"{at}/x", Descriptor("x", digest_of(b""), 5)),
        registry.blob(f"{at}/x", Descriptor("x", digest_of(b""), 2 << 20)),
    ):
        with pytest.raises(TooLargeError):
            await asked
    assert sent < 64 << 20


async def test_a_redirect_goes_without_credentials_and_a_loop_ends(client: RestClient, host: Host) -> None:
    seen: list[str] = []

    async def elsewhere(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization", ""))
        return web.Response(body=b"layer")

    far = await host(elsewhere)

    async def near(request: web.Request) -> web.StreamResponse:
        if "Authorization" not in request.headers:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})
        return web.Response(status=307, headers={"Location": f"http://{far}/signed?secret=1"})

    registry = Registry(client, keychain=ANN)
    at = await host(near)
    assert await registry.blob(f"{at}/x", Descriptor("x", digest_of(b"layer"), 5)) == b"layer"
    assert seen == [""]

    async def loop(request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": f"{request.path}1"})

    with pytest.raises(UnexpectedResponseError, match="redirects"):
        await registry.manifest(f"{await host(loop)}/x:1")


async def test_tags_are_listed_over_several_pages(client: RestClient, host: Host) -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        last = int(request.query.get("last", "0"))
        headers = {"Link": f'</v2/x/tags/list?last={last + 1}>; rel="next"'} if last < 3 else {}
        return web.json_response({"tags": [f"1.{last}", f"2.{last}"]}, headers=headers)

    at = await host(page)
    tags = await Registry(client).tags(f"{at}/x")
    assert tags == ["1.0", "2.0", "1.1", "2.1", "1.2", "2.2", "1.3", "2.3"]
    with pytest.raises(TooLargeError):
        await Registry(client, limits=RegistryLimits(tags=7)).tags(f"{at}/x")


async def test_a_page_of_a_million_tags_does_not_hold_the_event_loop(client: RestClient, host: Host) -> None:
    at = await host(answers(body=b'{"tags": [' + b'"a",' * 1_000_000 + b'"a"]}'))
    async with measured_turns() as turns:
        with pytest.raises(TooLargeError, match="more than 50000 tags"):
            await Registry(client).tags(f"{at}/x")
    assert turns.longest_s < 0.08


@pytest.mark.parametrize("link", ["http://example.org/v2/x/tags/list", "/v2/x/tags/list?n=1000", "ftp://x", "//["])
async def test_pages_that_lead_nowhere_are_an_error(client: RestClient, host: Host, link: str) -> None:
    at = await host(answers(body=b'{"tags": ["1"]}', headers={"Link": f'<{link}>; rel="next"'}))
    with pytest.raises(UnexpectedResponseError):
        await Registry(client).tags(f"{at}/x")


async def test_an_upload_is_not_continued_elsewhere(client: RestClient, host: Host) -> None:
    async def start(request: web.Request) -> web.StreamResponse:
        return web.Response(status=404 if request.method == "HEAD" else 202, headers={"Location": "http://far/x"})

    with pytest.raises(UnexpectedResponseError, match="continues"):
        await push_blob(Registry(client, keychain=ANN), f"{await host(start)}/x", b"1", "x")


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (401, {}, UnauthorizedError),
        (403, {}, DeniedError),
        (429, {"Retry-After": "7"}, RateLimitedError),
        (500, {}, UnreachableError),
        (418, {}, UnexpectedResponseError),
    ],
)
async def test_each_refusal_is_a_type(
    client: RestClient, host: Host, status: int, headers: dict[str, str], expected: type[OciError]
) -> None:
    body = json.dumps({"errors": [{"code": "WHY", "message": "because \u001b[31m"}]}).encode()
    at = await host(answers(status=status, headers=headers, body=body))
    with pytest.raises(expected, match=f"HTTP {status}") as error:
        await Registry(client).manifest(f"{at}/x:1")
    assert "\x1b" not in str(error.value)
    assert "WHY because" in str(error.value)
    assert not isinstance(error.value, RateLimitedError) or error.value.after_s == 7


async def test_a_registry_that_is_not_there_is_unreachable(client: RestClient) -> None:
    with pytest.raises(UnreachableError):
        await Registry(client).tags("127.0.0.1:9/x")


async def test_a_password_is_not_sent_to_a_token_server_without_tls(client: RestClient) -> None:
    """The registry is asked over TLS, so its token server has to be too."""
    registry = Registry(client, keychain=ANN)
    authorizer = registry.connections._authorizer("registry.example.org")
    assert authorizer.learn('Bearer realm="http://evil.example.org/t",service="x"', ("s",), None)
    with pytest.raises(UnexpectedResponseError, match="not an https:// URL"):
        await authorizer.authorize("x", ("s",))


@pytest.mark.parametrize(
    ("realm", "is_allowed"),
    [
        ("http://evil.example.org/t", False),
        ("http://127.0.0.1:5001/t", True),
        ("http://mirror.example.org:5000/t", True),
        ("http://mirror.example.org:5001/t", False),
        ("http://127.0.0.1@evil.example.org/t", False),
        ("https://auth.example.org/t", True),
    ],
)
async def test_the_token_server_of_a_plain_registry_is_plain_only_if_it_may_be(
    client: RestClient, realm: str, is_allowed: bool
) -> None:
    registry = Registry(client, keychain=ANN, plain=["mirror.example.org:5000"])
    authorizer = registry.connections._authorizer("mirror.example.org:5000")
    challenge = Challenge("bearer", realm, "x")
    if is_allowed:
        assert authorizer._token_request(challenge, None, ("s",)).url.startswith(realm)
    else:
        with pytest.raises(UnexpectedResponseError, match="not an https:// URL"):
            authorizer._token_request(challenge, None, ("s",))


async def test_a_token_that_was_revoked_is_requested_again(client: RestClient, host: Host) -> None:
    issued = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal issued
        if request.path == "/token":
            issued += 1
            return web.json_response({"token": f"t{issued}"})
        if request.headers.get("Authorization") not in ("Bearer t2", "Bearer t3"):
            challenge = f'Bearer realm="http://{request.host}/token"'
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        return web.Response(body=b'{"tags": null}')

    at = await host(answer)
    registry = Registry(client)
    with pytest.raises(UnauthorizedError):
        await registry.tags(f"{at}/x")
    assert await registry.tags(f"{at}/x") == []
    assert issued == 2


async def test_plain_http_is_for_this_machine_or_when_asked(client: RestClient, host: Host) -> None:
    at = await host(answers(body=b'{"tags": ["1"]}'))
    port = at.partition(":")[2]
    assert await Registry(client).tags(f"localhost:{port}/x") == ["1"]
    roots = {name: Registry(client, plain=("inner:5000",)).connections._root(parse_reference(name)) for name in _NAMES}
    assert roots == {
        "inner:5000/x": "http://inner:5000",
        "inner:5001/x": "https://inner:5001",
        "127.1.2.3/x": "http://127.1.2.3",
        "[::1]:5000/x": "http://[::1]:5000",
        "localhost.evil.org/x": "https://localhost.evil.org",
        "nginx": "https://registry-1.docker.io",
    }


_NAMES = ("inner:5000/x", "inner:5001/x", "127.1.2.3/x", "[::1]:5000/x", "localhost.evil.org/x", "nginx")


async def test_credential_helpers_are_refused_clearly(client: RestClient) -> None:
    keychain = parse_docker_config(b'{"credHelpers": {"ghcr.io": "gcloud"}}')
    with pytest.raises(CredentialHelperError, match="docker-credential-gcloud"):
        await Registry(client, keychain=keychain).resolve("ghcr.io/x/y:1")


async def test_a_registry_that_hangs_is_given_up(client: RestClient, host: Host) -> None:
    release = asyncio.Event()

    async def hang(_: web.Request) -> web.StreamResponse:
        await release.wait()
        return web.Response()

    at = await host(hang)
    with pytest.raises(UnreachableError, match="timed out"):
        await Registry(client, limits=RegistryLimits(timeout_s=0.1)).resolve(f"{at}/x:1")
    release.set()


@pytest.mark.parametrize(
    ("body", "media_type", "told"),
    [
        (b'{"schemaVersion": 1}', "", "schema 1"),
        (b"{}", "application/vnd.docker.distribution.manifest.v1+prettyjws", "schema 1"),
        (b'{"schemaVersion": 3}', "", "expected 2"),
        (b'{"schemaVersion": 2, "mediaType": "text/html"}', "", "not supported"),
        (b'{"schemaVersion": 2, "mediaType": "' + OCI_MANIFEST.encode() + b'"}', OCI_INDEX, "says that it is"),
        (b'{"schemaVersion": 2, "layers": [{"mediaType": "x", "digest": "sha256:1", "size": 1}]}', "", "digest"),
        (b'{"schemaVersion": 2, "layers": 1}', "", "expected form"),
        (b"[" * 100_000, "", "expected form"),
    ],
    ids=range(8),
)
def test_manifests_that_are_refused(body: bytes, media_type: str, told: str) -> None:
    with pytest.raises(InvalidManifestError, match=told):
        parse_manifest(body, media_type)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (
            'Bearer realm="https://a/t",service="s",scope="repository:t/i:pull,push"',
            [Challenge("bearer", "https://a/t", "s", "repository:t/i:pull,push")],
        ),
        ('Basic realm="x", Bearer realm=y', [Challenge("basic", "x"), Challenge("bearer", "y")]),
        ("Negotiate", [Challenge("negotiate")]),
        (r'Basic realm="a\"b"', [Challenge("basic", 'a"b')]),
        ("", []),
        ("=,=", []),
        ("a " * 50_000, None),
        ('Bearer realm="' + "\\" * 50_000, None),
    ],
    ids=range(8),
)
def test_challenges_are_read(header: str, found: list[Challenge] | None) -> None:
    assert found is None or parse_challenges(header) == found
    parse_challenges(header)


async def test_references_that_are_none(client: RestClient) -> None:
    for reference in ("", "a b", "x/Y", "ghcr.io/x:", "ghcr.io/x@sha256:1", "../x", "ghcr.io/x?y=1"):
        with pytest.raises(InvalidReferenceError):
            await Registry(client).resolve(reference)


async def test_requests_that_are_challenged_at_once_are_all_answered(client: RestClient, host: Host) -> None:
    waiting = asyncio.Barrier(3)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/token":
            return web.json_response({"token": "t"})
        if "Authorization" not in request.headers:
            await waiting.wait()
            challenge = f'Bearer realm="http://{request.host}/token"'
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        return web.Response(body=b'{"tags": ["1"]}')

    at = await host(answer)
    registry = Registry(client)
    assert await asyncio.gather(*(registry.tags(f"{at}/{name}") for name in "xxy")) == [["1"]] * 3


async def test_pages_of_tags_without_end_are_given_up(client: RestClient, host: Host) -> None:
    asked = 0

    async def page(_: web.Request) -> web.StreamResponse:
        nonlocal asked
        asked += 1
        return web.json_response({"tags": []}, headers={"Link": f'</v2/x/tags/list?last={asked}>; rel="next"'})

    with pytest.raises(TooLargeError, match="pages"):
        await Registry(client, limits=RegistryLimits(pages=20)).tags(f"{await host(page)}/x")
    assert asked == 20


async def test_a_tag_that_can_be_none_is_refused(client: RestClient, host: Host) -> None:
    at = await host(answers(body=json.dumps({"tags": ["1", "x" * 129]}).encode()))
    with pytest.raises(UnexpectedResponseError, match="tag"):
        await Registry(client).tags(f"{at}/x")


async def test_referrers_are_listed_over_several_pages(client: RestClient, host: Host) -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        last = int(request.query.get("last", "0"))
        headers = {"Link": f'<{request.path}?last={last + 1}>; rel="next"'} if last < 2 else {}
        body = encode_manifest(Index(manifests=(Descriptor("x", digest_of(b"%d" % last), 1),)))
        return web.Response(body=body, content_type=OCI_INDEX, headers=headers)

    at = await host(page)
    wanted = f"{at}/x@{digest_of(b'')}"
    found = await Registry(client).referrers(wanted)
    assert [each.digest for each in found] == [digest_of(b"0"), digest_of(b"1"), digest_of(b"2")]
    with pytest.raises(TooLargeError):
        await Registry(client, limits=RegistryLimits(referrers=2)).referrers(wanted)


async def test_downloads_of_one_file_at_once_do_not_mix(client: RestClient, host: Host, tmp_path: Path) -> None:
    both, first_is_done = asyncio.Barrier(2), asyncio.Event()
    answered = 0

    async def blob(request: web.Request) -> web.StreamResponse:
        nonlocal answered
        answered += 1
        is_first = answered == 1
        response = web.StreamResponse()
        await response.prepare(request)
        if is_first:
            await response.write(b"1" * 100_000)
        await both.wait()
        await response.write(b"1" * 100_000 if is_first else b"1" * 50_000)
        if not is_first:
            await first_is_done.wait()
            await response.write(b"1" * 150_000)
        return response

    data = b"1" * 200_000
    registry, path = Registry(client), tmp_path / "blob"
    descriptor, name = Descriptor("x", digest_of(data), len(data)), f"{await host(blob)}/x"
    first = asyncio.create_task(registry.download(name, descriptor, path))
    async with asyncio.timeout(30):
        await eventually(lambda: [each for each in tmp_path.iterdir() if each.stat().st_size])
        second = asyncio.create_task(registry.download(name, descriptor, path))
        await first
        assert path.read_bytes() == data
        first_is_done.set()
        await second
    assert path.read_bytes() == data
    assert os.listdir(tmp_path) == ["blob"]
