from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web

from homeostat.edge.proxies import Proxies
from homeostat.external.oci.bundle import pack_bundle
from homeostat.operators.sync.context.bundle import fetch_bundle
from homeostat.operators.sync.engine.errors import NotFoundError, ValidationError
from homeostat.operators.sync.engine.metadata.layers import Metadata
from tests.external.servers import serving

MANIFEST = (
    b"apiVersion: declarest.io/v1alpha1\nkind: MetadataBundle\nname: demo\nversion: 1.0.0\n"
    b"declarest: {metadataRoot: metadata}\n"
)
FILES = {
    "bundle.yaml": MANIFEST,
    "metadata/sites/_/metadata.yaml": b"resource: {id: /code}\n",
    "metadata/openapi.json": b'{"paths": {}}',
}
NONE = Proxies()


def write(base: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


async def test_a_bundle_is_read_from_a_directory_and_from_an_archive(tmp_path: Path) -> None:
    write(tmp_path / "dir", FILES)
    write(tmp_path, {"demo.tar.gz": pack_bundle({f"demo/{name}": data for name, data in FILES.items()})})
    for reference in (str(tmp_path / "dir"), f"file://{tmp_path}/demo.tar.gz"):
        bundle = await fetch_bundle(reference, NONE)
        assert (bundle.name, bundle.openapi) == ("demo", b'{"paths": {}}')
        assert Metadata(bundle.metadata).rules("/sites/a").id.text == "/code"


async def test_a_bundle_is_downloaded() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=pack_bundle(FILES), status=200 if request.path == "/b.tar.gz" else 404)

    async with serving(answer) as url:
        assert (await fetch_bundle(f"{url}/b.tar.gz", NONE)).version == "1.0.0"
        with pytest.raises(NotFoundError):
            await fetch_bundle(f"{url}/other.tar.gz", NONE)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"bundle.yaml": b"name: x"},
        {"bundle.yaml": MANIFEST + b"unknown: 1\n"},
        {"bundle.yaml": MANIFEST},
        {"bundle.yaml": MANIFEST.replace(b"metadataRoot: metadata", b"metadataRoot: ../x")},
    ],
)
async def test_a_directory_that_is_no_bundle_is_refused(tmp_path: Path, files: dict[str, bytes]) -> None:
    write(tmp_path, files)
    with pytest.raises(ValidationError):
        await fetch_bundle(str(tmp_path), NONE)


async def test_an_archive_that_cannot_be_unpacked_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"b.tar.gz": b"not gzip"})
    for name in ("b.tar.gz", "missing.tar.gz"):
        with pytest.raises(ValidationError):
            await fetch_bundle(str(tmp_path / name), NONE)
