"""A layer unpacks to the files that were packed, or not at all."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib

import pytest

from homeostat.external.oci.bundle import BundleLimits, pack_bundle, unpack_bundle
from homeostat.external.oci.errors import InvalidBundleError, OciError, TooLargeError

FILES = {"pacto.yaml": b"x: 1\n", "docs/" + "ü" * 120 + "/a.md": b"", "sbom/x.json": b"{}" * 1000}


def layer(*members: tuple[str, bytes, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, kind, contents in members:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, len(contents), "target"
            tar.addfile(member, io.BytesIO(contents))
    return packed.getvalue()


def test_files_come_back_and_always_pack_to_the_same_bytes() -> None:
    packed = pack_bundle(FILES)
    assert unpack_bundle(packed) == FILES
    assert pack_bundle(dict(reversed(FILES.items()))) == packed


def test_directories_and_leading_dots_do_not_count() -> None:
    packed = layer(("./", tarfile.DIRTYPE, b""), ("./a/", tarfile.DIRTYPE, b""), ("./a/b", tarfile.REGTYPE, b"1"))
    assert unpack_bundle(packed) == {"a/b": b"1"}


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x", "a/../../x", "a\\b", "a\nb", ".", pytest.param("\udcff", id="not UTF-8")]
)
def test_paths_that_are_refused(name: str) -> None:
    with pytest.raises(InvalidBundleError):
        unpack_bundle(layer((name, tarfile.REGTYPE, b"1")))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(kind: bytes) -> None:
    with pytest.raises(InvalidBundleError, match="link or a device"):
        unpack_bundle(layer(("x", kind, b"")))


def test_a_path_is_there_once_and_not_below_a_file() -> None:
    with pytest.raises(InvalidBundleError, match="twice"):
        unpack_bundle(layer(("x", tarfile.REGTYPE, b""), ("./x", tarfile.REGTYPE, b"")))
    with pytest.raises(InvalidBundleError, match="below a file"):
        unpack_bundle(layer(("x", tarfile.REGTYPE, b""), ("x/y", tarfile.REGTYPE, b"")))


@pytest.mark.parametrize(
    "limits",
    [BundleLimits(file_bytes=9), BundleLimits(total_bytes=19), BundleLimits(entries=1), BundleLimits(path_length=1)],
    ids=["file", "total", "entries", "path"],
)
def test_what_exceeds_the_limits_is_refused(limits: BundleLimits) -> None:
    packed = pack_bundle({"aa": b"1" * 10, "bb": b"2" * 10})
    assert len(unpack_bundle(packed)) == 2
    with pytest.raises(TooLargeError):
        unpack_bundle(packed, limits)


def test_a_bomb_does_not_go_off() -> None:
    """Much of nothing: as a file, and as a header that tar reads on its own."""
    for kind in (tarfile.REGTYPE, tarfile.XHDTYPE):
        header = tarfile.TarInfo("x")
        header.type, header.size = kind, 100 << 20
        bomb = gzip.compress(header.tobuf() + b"\0" * (100 << 20), 1)
        with pytest.raises(TooLargeError):
            unpack_bundle(bomb, BundleLimits(file_bytes=1 << 40))


@pytest.mark.parametrize("at", range(0, 400, 23))
def test_a_layer_that_ends_early_or_is_damaged_is_an_error(at: int) -> None:
    packed = pack_bundle({"x": bytes(range(256)) * 4})
    for damaged in (packed[:at], packed[:at] + b"\xff" + packed[at + 1 :], b"not gzip"):
        try:
            assert unpack_bundle(damaged) in ({}, {"x": bytes(range(256)) * 4})
        except OciError:
            continue


def test_a_layer_of_several_gzip_members_is_read_to_its_end() -> None:
    tar = gzip.decompress(pack_bundle(FILES))
    assert unpack_bundle(b"".join(gzip.compress(tar[at : at + 512]) for at in range(0, len(tar), 512))) == FILES
    large = gzip.decompress(layer(("a", tarfile.REGTYPE, bytes(100_000))))
    with pytest.raises(TooLargeError, match="unpacks to more"):
        # A header of padding, which no entry counts, then members without end.
        unpack_bundle(gzip.compress(_padding()) + gzip.compress(large) * 100, BundleLimits(total_bytes=1000, entries=1))


def _padding() -> bytes:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 8_000_000
    return header.tobuf(tarfile.USTAR_FORMAT)


def test_a_layer_that_breaks_off_between_two_files_is_refused() -> None:
    tar = gzip.decompress(layer(("a", tarfile.REGTYPE, b"1"), ("b", tarfile.REGTYPE, b"2")))
    cut = zlib.compressobj(wbits=31)
    with pytest.raises(InvalidBundleError):
        unpack_bundle(cut.compress(tar[:1024]) + cut.flush(zlib.Z_FULL_FLUSH))


def test_headers_nested_without_end_are_refused() -> None:
    header = tarfile.TarInfo("x")
    header.type = tarfile.XHDTYPE
    with pytest.raises(InvalidBundleError):
        unpack_bundle(gzip.compress(header.tobuf(tarfile.USTAR_FORMAT) * 5000))
