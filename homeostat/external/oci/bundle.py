"""Packs files as a layer (tar, gzip), and unpacks a layer within limits. Pure.

A layer from outside may be hostile: links, devices, absolute paths and `..` are refused, and limits are checked before
anything is in memory. The same files always pack to the same bytes.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Final, cast

from homeostat.external.oci.deflate import gzip_bytes
from homeostat.external.oci.errors import InvalidBundleError, TooLargeError

_FILES: Final = (tarfile.REGTYPE, tarfile.AREGTYPE)
_RECORD: Final = 1536
"""The size of a tar entry without its contents, with room for a long name."""
_WINDOW: Final = 31
"""zlib's value for gzip with the largest window."""
_CHUNK: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleLimits:
    file_bytes: int = 10 << 20
    total_bytes: int = 50 << 20
    entries: int = 10_000
    path_length: int = 1024


class _Unpacked:
    """Decompresses gzip up to the limit of a bundle."""

    def __init__(self, data: bytes, largest: int) -> None:
        self._data, self._left = memoryview(data), largest
        self._inflate = zlib.decompressobj(_WINDOW)
        self._waiting, self._is_between = b"", False

    def read(self, size: int) -> bytes:
        while not self._waiting and (fed := self._fed()):
            self._waiting = self._inflate.decompress(fed, _CHUNK)
            self._left -= len(self._waiting)
            if self._left < 0:
                raise TooLargeError("the layer unpacks to more than a bundle may hold")
        taken, self._waiting = self._waiting[:size], self._waiting[size:]
        return taken

    def _fed(self) -> bytes:
        """The next compressed bytes; none at the end. A gzip file may consist of several members."""
        waiting = self._inflate.unconsumed_tail
        if self._inflate.eof:
            waiting, self._inflate = self._inflate.unused_data, zlib.decompressobj(_WINDOW)
            self._is_between = not waiting
        if not waiting:
            waiting, self._data = bytes(self._data[:_CHUNK]), self._data[_CHUNK:]
            if not waiting and not self._is_between:
                raise EOFError("the gzip breaks off")
        self._is_between = False
        return waiting


def unpack_bundle(layer: bytes, limits: BundleLimits | None = None) -> dict[str, bytes]:
    """The files by their path."""
    limits = limits or BundleLimits()
    stream = _Unpacked(layer, limits.total_bytes + _RECORD * (limits.entries + 8))
    files: dict[str, bytes] = {}
    total = 0
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", errorlevel=2) as tar:
            for at, member in enumerate(tar):
                if at >= limits.entries:
                    raise TooLargeError(f"the layer has more than {limits.entries} entries")
                if (path := _checked(member, limits)) is None:
                    continue
                total += member.size
                if total > limits.total_bytes:
                    raise TooLargeError(f"the layer's files have more than {limits.total_bytes} bytes")
                if path in files:
                    raise InvalidBundleError(f'"{path}" is in the layer twice')
                files[path] = _contents(tar, member)
    except (tarfile.TarError, zlib.error, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidBundleError(f"the layer is not a readable tar in gzip: {type(error).__name__}") from error
    for path in files:
        parts = path.split("/")
        if any("/".join(parts[:at]) in files for at in range(1, len(parts))):
            raise InvalidBundleError(f'"{path}" lies below a file')
    return files


def pack_bundle(files: Mapping[str, bytes]) -> bytes:
    """A layer whose bytes, and with them its digest, are the same on every machine."""
    return gzip_bytes(pack_tar(files))


def pack_tar(files: Mapping[str, bytes]) -> bytes:
    """The files in the order of their paths, without times and owners: what a layer holds, uncompressed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(files):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(files[path]), 0o644
            tar.addfile(member, io.BytesIO(files[path]))
    return packed.getvalue()


def _checked(member: tarfile.TarInfo, limits: BundleLimits) -> str | None:
    """The path of a file; None for a directory."""
    name = member.name
    if len(name) > limits.path_length:
        raise TooLargeError(f"a path of the layer has more than {limits.path_length} characters")
    is_hostile = name.startswith("/") or "\\" in name or ".." in name.split("/") or any(ord(each) < 32 for each in name)
    # Bytes that are not UTF-8 are surrogates here, which cannot be encoded again.
    if is_hostile or any("\ud800" <= each <= "\udfff" for each in name):
        raise InvalidBundleError(f"{name[:200]!r} is not a path that a bundle may hold")
    if member.type == tarfile.DIRTYPE:
        return None
    if member.type not in _FILES or member.issparse():
        raise InvalidBundleError(f"{name[:200]!r} is a link or a device; a bundle holds files and directories")
    if member.size > limits.file_bytes:
        raise TooLargeError(f'"{name}" has {member.size} bytes; the limit is {limits.file_bytes}')
    path = "/".join(each for each in name.split("/") if each not in ("", "."))
    if not path:
        raise InvalidBundleError(f"{name[:200]!r} is not the path of a file")
    return path


def _contents(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    opened = tar.extractfile(member)
    contents = opened.read() if opened else b""
    if len(contents) != member.size:
        raise InvalidBundleError(f'"{member.name}" ends early')
    return contents
