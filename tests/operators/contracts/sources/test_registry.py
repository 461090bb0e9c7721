"""Bundles go to a real registry and come back; a hostile one gives a clear error and leaves nothing behind."""

from __future__ import annotations

import gzip
import io
import json
import secrets
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from homeostat.external.oci.auth import OneCredential
from homeostat.external.oci.bundle import pack_bundle
from homeostat.external.oci.digest import digest_of
from homeostat.external.oci.manifest import DOCKER_MANIFEST, Descriptor, Index, Manifest, Platform
from homeostat.external.oci.push import push_blob, push_manifest
from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.external.secrets.docker_config import RegistryCredential
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.validate import load
from homeostat.operators.contracts.sources.cache import BlobCache
from homeostat.operators.contracts.sources.errors import (
    AuthenticationError,
    InvalidBundleError,
    InvalidRefError,
    NoMatchingVersionError,
    NotFoundError,
    SourceError,
    UnreachableError,
)
from homeostat.operators.contracts.sources.push import is_published, push_bundle
from homeostat.operators.contracts.sources.registry import LIMITS, RegistrySource
from tests.external.oci.media_types import OCI_CONFIG
from tests.external.registries import PASSWORD, USER, issuing_tokens, running_registry, with_passwords
from tests.external.servers import serving
from tests.holds import measured_turns

FILES = {
    "pacto.yaml": b'pactoVersion: "1.0"\nservice: {name: mill, version: 1.1.0}\n',
    "docs/guide.md": b"# guide\n",
}
ANN = OneCredential(RegistryCredential(basic=BasicAuth(USER, PASSWORD)))


def files_below(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]


def bundle(version: str = "1.1.0") -> Bundle:
    files = {**FILES, "pacto.yaml": FILES["pacto.yaml"].replace(b"1.1.0", version.encode())}
    return Bundle(load(files).contract, files)


@pytest.fixture
def registry(client: RestClient) -> Registry:
    return Registry(client, limits=LIMITS)


@pytest.fixture
def source(registry: Registry) -> RegistrySource:
    return RegistrySource(registry)


@pytest.fixture
def name(host: str) -> str:
    return f"{host}/team/{secrets.token_hex(4)}"


async def test_a_bundle_comes_back_as_it_was_pushed(registry: Registry, source: RegistrySource, name: str) -> None:
    digest = await push_bundle(registry, f"{name}:1.1.0", bundle())
    found = await source.fetch(f"oci://{name}:1.1.0")
    assert (found.ref, found.digest, found.files) == (f"{name}:1.1.0", digest, FILES)
    assert found.bundle().contract.service.name == "mill"
    assert await is_published(registry, f"{name}:1.1.0")
    assert not await is_published(registry, f"{name}:2")


async def test_any_client_can_read_what_was_pushed(registry: Registry, name: str) -> None:
    await push_bundle(registry, f"{name}:1", bundle())
    manifest = await registry.manifest(f"{name}:1")
    assert isinstance(manifest, Manifest)
    assert manifest.media_type == "application/vnd.oci.image.manifest.v1+json"
    assert [each.media_type for each in manifest.layers] == ["application/vnd.pacto.bundle.layer.v1.tar+gzip"]
    assert manifest.config is not None
    config = json.loads(await registry.blob(f"{name}:1", manifest.config))
    layer = await registry.blob(f"{name}:1", manifest.layers[0])
    assert config["rootfs"]["diff_ids"] == [digest_of(gzip.decompress(layer))]
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        assert tar.getnames() == ["docs/guide.md", "pacto.yaml"]
    labels = {"io.pacto.name": "mill", "io.pacto.version": "1.1.0", "io.pacto.pactoVersion": "1.0"}
    assert config["config"]["Labels"] == labels


async def test_equal_bundles_have_equal_digests(registry: Registry, name: str) -> None:
    assert await push_bundle(registry, f"{name}:a", bundle()) == await push_bundle(registry, f"{name}:b", bundle())


@pytest.mark.parametrize(
    ("constraint", "tag"), [("", "v2.0.0"), ("^1.0.0", "1.4.2"), ("~1.0", "1.0.0"), (">=1 <3", "v2.0.0")]
)
async def test_the_highest_version_that_is_allowed_is_chosen(
    registry: Registry, source: RegistrySource, name: str, constraint: str, tag: str
) -> None:
    for each in ("1.0.0", "1.4.2", "v2.0.0", "latest", "main"):
        await push_bundle(registry, f"{name}:{each}", bundle())
    found = await source.resolve(f"oci://{name}", constraint)
    assert found.ref == f"{name}:{tag}"
    assert sorted(await source.tags(f"oci://{name}:1.0.0")) == ["1.0.0", "1.4.2", "latest", "main", "v2.0.0"]


async def test_choosing_among_many_tags_does_not_hold_the_event_loop(source: RegistrySource) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if not request.path.endswith("/tags/list"):
            return web.Response(status=404)
        return web.json_response({"tags": [f"1.0.{number}" for number in range(20_000)]})

    async with serving(answer) as url, measured_turns() as turns:
        with pytest.raises(NotFoundError, match=r"1\.0\.19999"):
            await source.resolve(f"oci://{url.removeprefix('http://')}/x", "^1")
    assert turns.longest_s < 0.15


async def test_no_version_is_chosen_where_none_is_allowed(
    registry: Registry, source: RegistrySource, name: str
) -> None:
    await push_bundle(registry, f"{name}:1.0.0", bundle())
    await push_bundle(registry, f"{name}-x:latest", bundle())
    with pytest.raises(NoMatchingVersionError, match=r'no tags satisfy constraint "\^9"'):
        await source.fetch(f"oci://{name}", "^9")
    with pytest.raises(NoMatchingVersionError, match="name a tag"):
        await source.fetch(f"oci://{name}-x")
    with pytest.raises(InvalidRefError):
        await source.fetch(f"oci://{name}", "what")


@pytest.mark.parametrize("suffix", [":1.0.0", "", f"@sha256:{'0' * 64}"])
async def test_what_is_not_there_is_not_found(source: RegistrySource, name: str, suffix: str) -> None:
    with pytest.raises(NotFoundError, match=f"artifact not found: {name}"):
        await source.fetch(f"oci://{name}{suffix}")


@pytest.mark.parametrize(
    "ref", ["oci://", "oci://h:1/A", "oci://h.test/a:b:c", "oci://h.test/a@sha256:1", "oci://a b/c"]
)
async def test_a_bad_reference_is_refused_before_any_request(source: RegistrySource, ref: str) -> None:
    with pytest.raises(InvalidRefError):
        await source.fetch(ref)


async def test_a_registry_that_does_not_answer_is_unreachable(source: RegistrySource) -> None:
    with pytest.raises(UnreachableError) as error:
        await source.fetch("oci://127.0.0.1:1/a/b:1")
    assert str(error.value).count("127.0.0.1") == 1


async def test_a_moved_tag_is_noticed_in_spite_of_the_cache(registry: Registry, name: str, tmp_path: Path) -> None:
    source = RegistrySource(registry, BlobCache(tmp_path))
    await push_bundle(registry, f"{name}:1", bundle("1.0.0"))
    first = await source.fetch(f"{name}:1")
    await push_bundle(registry, f"{name}:1", bundle("1.0.1"))
    second = await source.fetch(f"{name}:1")
    assert [each.bundle().contract.service.version for each in (first, second)] == ["1.0.0", "1.0.1"]
    assert first.digest != second.digest


async def test_the_cache_serves_a_digest_without_the_registry(client: RestClient, tmp_path: Path) -> None:
    with running_registry(tmp_path / "registry") as host:
        registry = Registry(client)
        digest = await push_bundle(registry, f"{host}/a:1", bundle())
        await RegistrySource(registry, BlobCache(tmp_path / "cache")).fetch(f"{host}/a:1")
    cached = RegistrySource(registry, BlobCache(tmp_path / "cache"))
    assert (await cached.fetch(f"{host}/a@{digest}")).files == FILES
    cache = BlobCache(tmp_path / "cache")
    for careful in (
        RegistrySource(registry, cache, checks_access=True),
        RegistrySource(registry, cache, reads_cache=False),
    ):
        with pytest.raises(UnreachableError):
            await careful.fetch(f"{host}/a@{digest}")


async def test_credentials_are_needed_where_the_registry_needs_them(client: RestClient, tmp_path: Path) -> None:
    with running_registry(tmp_path, with_passwords(tmp_path)) as host:
        known = Registry(client, keychain=ANN)
        await push_bundle(known, f"{host}/a:1", bundle())
        assert (await RegistrySource(known).fetch(f"oci://{host}/a")).files == FILES
        for ref in (f"{host}/a:1", f"{host}/a"):
            with pytest.raises(AuthenticationError, match="credentials"):
                await RegistrySource(Registry(client)).fetch(ref)


async def test_a_token_server_gives_what_is_needed(client: RestClient, tmp_path: Path) -> None:
    async with issuing_tokens() as tokens:
        with running_registry(tmp_path, tokens.auth(tmp_path)) as host:
            await push_bundle(Registry(client, keychain=ANN), f"{host}/a:1.0.0", bundle())
            assert (await RegistrySource(Registry(client)).fetch(f"oci://{host}/a")).files == FILES
            with pytest.raises(AuthenticationError):
                await push_bundle(Registry(client), f"{host}/a:1", bundle())


async def _push(
    registry: Registry, ref: str, *layers: bytes, media_type: str = "", layer_type: str = "any/thing"
) -> None:
    config = await push_blob(registry, ref, b"{}", OCI_CONFIG)
    parts = [await push_blob(registry, ref, each, layer_type) for each in layers]
    manifest = Manifest(config=config, layers=tuple(parts))
    await push_manifest(registry, ref, msgspec.structs.replace(manifest, media_type=media_type or manifest.media_type))


@pytest.mark.parametrize(
    ("media_type", "layer_type"),
    [
        ("", "application/vnd.pacto.bundle.layer.v1.tar+gzip"),
        (DOCKER_MANIFEST, "application/vnd.docker.image.rootfs.diff.tar.gzip"),
        ("", "application/vnd.oci.image.layer.v1.tar+gzip"),
        ("", "application/octet-stream"),
    ],
)
async def test_a_bundle_of_another_tool_is_read(
    registry: Registry, source: RegistrySource, name: str, media_type: str, layer_type: str
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, data in (("./", None), ("./pacto.yaml", FILES["pacto.yaml"]), ("docs", None)):
            member = tarfile.TarInfo(path)
            member.type = tarfile.REGTYPE if data else tarfile.DIRTYPE
            member.size, member.mtime, member.uid = len(data or b""), 1_700_000_000, 1000
            tar.addfile(member, io.BytesIO(data or b""))
    await _push(registry, f"{name}:1", packed.getvalue(), media_type=media_type, layer_type=layer_type)
    assert (await source.fetch(f"oci://{name}:1")).files == {"pacto.yaml": FILES["pacto.yaml"]}


async def test_an_index_with_one_image_is_that_image(registry: Registry, source: RegistrySource, name: str) -> None:
    digest = await push_bundle(registry, f"{name}:one", bundle())
    inner = Descriptor(
        "application/vnd.oci.image.manifest.v1+json", digest, len((await registry.fetch(f"{name}:one"))[0])
    )
    unknown = Descriptor(inner.media_type, digest, inner.size, platform=Platform("unknown", "unknown"))
    await push_manifest(registry, f"{name}:1", Index(manifests=(inner,)))
    await push_manifest(registry, f"{name}:2", Index(manifests=(unknown, unknown)))
    assert (await source.fetch(f"oci://{name}:1")).files == FILES
    with pytest.raises(InvalidBundleError, match="list of images"):
        await source.fetch(f"oci://{name}:2")


def _tar(change: Callable[[tarfile.TarInfo], None], data: bytes = b"x", *, name: str = "x") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        contract = tarfile.TarInfo("pacto.yaml")
        contract.size = len(FILES["pacto.yaml"])
        tar.addfile(contract, io.BytesIO(FILES["pacto.yaml"]))
        member = tarfile.TarInfo(name)
        member.size = len(data)
        change(member)
        tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _link(kind: bytes, target: str) -> Callable[[tarfile.TarInfo], None]:
    def change(member: tarfile.TarInfo) -> None:
        member.type, member.linkname, member.size = kind, target, 0

    return change


def _nothing(member: tarfile.TarInfo) -> None:
    pass


def _entries(count: int) -> bytes:
    return pack_bundle({**FILES, **{f"f{number}": b"" for number in range(count)}})


HOSTILE: dict[str, Callable[[], tuple[bytes, ...]]] = {
    "slip": lambda: (_tar(_nothing, name="../../evil"),),
    "absolute": lambda: (_tar(_nothing, name="/tmp/evil"),),
    "inner dots": lambda: (_tar(_nothing, name="a/../../evil"),),
    "symbolic link": lambda: (_tar(_link(tarfile.SYMTYPE, "/etc/passwd")),),
    "hard link": lambda: (_tar(_link(tarfile.LNKTYPE, "/etc/passwd")),),
    "device": lambda: (_tar(_link(tarfile.CHRTYPE, "")),),
    "large file": lambda: (_tar(_nothing, bytes((10 << 20) + 1)),),
    "bomb": lambda: (gzip.compress(bytes(200 << 20)),),
    "not gzip": lambda: (b"PK\x03\x04",),
    "broken off": lambda: (pack_bundle({**FILES, "z": bytes(range(256)) * 8})[:-1500],),
    "no contract": lambda: (pack_bundle({"chart.yaml": b""}),),
    "contract below": lambda: (pack_bundle({"x/pacto.yaml": FILES["pacto.yaml"]}),),
    "two layers": lambda: (pack_bundle(FILES), pack_bundle({"a": b""})),
    "no layer": lambda: (),
    "entries": lambda: (_entries(10_001),),
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_what_is_not_a_bundle_is_refused(registry: Registry, name: str, tmp_path: Path, case: str) -> None:
    await _push(registry, f"{name}:1", *HOSTILE[case]())
    cache = tmp_path / "a/cache"
    with pytest.raises(InvalidBundleError, match=name):
        await RegistrySource(registry, BlobCache(cache)).fetch(f"oci://{name}:1")
    assert [each for each in files_below(tmp_path) if cache not in each.parents] == []


class Liar:
    """A registry that says what `answers` say: by the end of the path, a body and headers."""

    def __init__(self, **answers: tuple[bytes, dict[str, str]]) -> None:
        self.answers, self.seen = answers, list[tuple[str, str]]()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append((request.path, request.headers.get("Authorization", "")))
        for end, (body, headers) in self.answers.items():
            if end in request.path:
                return web.Response(body=body, headers=headers)
        return web.Response(status=404)


def _manifest(layer: bytes, **changes: Any) -> bytes:
    part = {"mediaType": "x/y", "digest": digest_of(layer), "size": len(layer), **changes}
    config = {"mediaType": OCI_CONFIG, "digest": digest_of(b"{}"), "size": 2}
    media_type = "application/vnd.oci.image.manifest.v1+json"
    return json.dumps({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [part]}).encode()


async def _refusal(client: RestClient, liar: Liar, tmp_path: Path) -> SourceError:
    async with serving(liar.answer) as url:
        source = RegistrySource(Registry(client, limits=LIMITS), BlobCache(tmp_path))
        with pytest.raises(SourceError) as refused:
            await source.fetch(f"oci://{url.removeprefix('http://')}/a/b:1")
    assert {each.name for each in files_below(tmp_path)} <= _names(liar)
    return refused.value


def _names(liar: Liar) -> set[str]:
    return {digest_of(body).removeprefix("sha256:") for body, _ in liar.answers.values()}


async def test_a_registry_that_lies_about_the_manifest_is_caught(client: RestClient, tmp_path: Path) -> None:
    layer = pack_bundle(FILES)
    liar = Liar(manifests=(_manifest(layer), {"Docker-Content-Digest": f"sha256:{'1' * 64}"}), blobs=(layer, {}))
    assert isinstance(await _refusal(client, liar, tmp_path), InvalidBundleError)


async def test_a_registry_that_lies_about_a_layer_is_caught(client: RestClient, tmp_path: Path) -> None:
    body = _manifest(pack_bundle(FILES))
    other = pack_bundle({**FILES, "docs/guide.md": b"# other\n"})
    liar = Liar(manifests=(body, {"Docker-Content-Digest": digest_of(body)}), blobs=(other, {}))
    assert isinstance(await _refusal(client, liar, tmp_path), InvalidBundleError)


async def test_a_layer_of_two_gigabytes_is_not_fetched(client: RestClient, tmp_path: Path) -> None:
    body = _manifest(b"x", size=2 << 30)
    liar = Liar(manifests=(body, {"Docker-Content-Digest": digest_of(body)}), blobs=(b"x", {}))
    assert isinstance(await _refusal(client, liar, tmp_path), InvalidBundleError)
    assert not any("blobs" in path for path, _ in liar.seen)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"schemaVersion": 1}', b"\xff" * 100, b"[" * 100_000])
async def test_a_manifest_that_is_none_is_refused(client: RestClient, tmp_path: Path, body: bytes) -> None:
    liar = Liar(manifests=(body, {"Docker-Content-Digest": digest_of(body)}))
    assert isinstance(await _refusal(client, liar, tmp_path), InvalidBundleError)


async def test_a_redirect_elsewhere_does_not_get_the_credentials(client: RestClient) -> None:
    layer = pack_bundle(FILES)
    body = _manifest(layer)
    elsewhere = Liar(layer=(layer, {}))
    async with serving(elsewhere.answer) as other:

        async def answer(request: web.Request) -> web.StreamResponse:
            if request.headers.get("Authorization") is None:
                return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})
            if "blobs" in request.path:
                return web.Response(status=307, headers={"Location": f"{other}/layer"})
            return web.Response(body=body, headers={"Docker-Content-Digest": digest_of(body)})

        async with serving(answer) as url:
            source = RegistrySource(Registry(client, keychain=ANN))
            assert (await source.fetch(f"oci://{url.removeprefix('http://')}/a:1")).files == FILES
    assert elsewhere.seen == [("/layer", "")]
