"""The file format of a backup. A file is private to its owner, appears only when it is complete, and is verified when
it is read.

    homeostat backup                    the first line
    {"revision":...,"format":1,...}     the second: what is in it, for people too
    frames                              two lengths (packed, unpacked; 32 bits each), rows as MessagePack in zlib
    a frame of length 0
    SHA-256 of all before               32 bytes

Damage of any kind raises `BackupError`. The checksum detects damage, not forgery: whoever can write the file can also
compute the checksum. Only sealed values, which are bound to their key, cannot be forged.
"""

from __future__ import annotations

import hashlib
import stat
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from homeostat.store.backup.rows import Contents, Row
from homeostat.store.base import StoreError
from homeostat.store.files import private_beside, sync_directory, sync_file

FORMAT = 1
_MAGIC = b"homeostat backup\n"
_LONGEST_HEADER = 64 << 10
_LONGEST_FRAME = 256 << 20
# Level 6 packs Kubernetes objects 23-fold at half the speed of this one's 19; lzma needs nine times as long for 25.
_LEVEL = 3
_lengths = struct.Struct(">II")
_rows = msgspec.msgpack.Decoder(list[Row])


class BackupError(StoreError):
    """The file is not a backup, is damaged, or cannot be read or written."""


class Header(Contents, frozen=True, kw_only=True):
    format: int = FORMAT
    made: float
    """When, in seconds since 1970."""


class _Format(msgspec.Struct):
    format: int


@contextmanager
def writing(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Write to a private temporary file beside `path`, which is renamed to `path` at the end of the block, or removed.

    Only a backup is replaced. A path to any other file, such as the database, is refused.
    """
    try:
        _require_replaceable(path)
        with private_beside(path) as (file, beside):
            yield file, beside
            sync_file(file)
            beside.replace(path)
            sync_directory(path.parent)
    except FileNotFoundError as error:
        raise BackupError(f'"{path}" cannot be written: there is no directory "{path.parent}"; create it') from error
    except OSError as error:
        raise BackupError(f'"{path}" cannot be written: {error.strerror}') from error


def _require_replaceable(path: Path) -> None:
    try:
        is_file = stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if not is_file or not _is_backup(path):
        raise BackupError(f'"{path}" already exists and is not a backup; choose another file')


def _is_backup(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) in {_MAGIC, b""}


class BackupWriter:
    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._write(_MAGIC + msgspec.json.encode(header) + b"\n")

    def add(self, rows: Sequence[Row]) -> None:
        if rows:
            raw = msgspec.msgpack.encode(rows)
            packed = zlib.compress(raw, _LEVEL)
            self._write(_lengths.pack(len(packed), len(raw)) + packed)

    def finish(self) -> None:
        self._write(_lengths.pack(0, 0))
        self._file.write(self._hash.digest())
        self._file.flush()

    def _write(self, data: bytes) -> None:
        self._hash.update(data)
        self._file.write(data)


class BackupReader:
    """Reads the header immediately and the rows by `chunks`, which raises at the end if the checksum is wrong."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._hash = hashlib.sha256()
        if file.read(len(_MAGIC)) != _MAGIC:
            raise BackupError(f'"{path}" is not a backup')
        self._hash.update(_MAGIC)
        self.header = self._read_header()

    def chunks(self) -> Iterator[list[Row]]:
        while True:
            packed_bytes, raw_bytes = _lengths.unpack(self._read(_lengths.size))
            if not packed_bytes:
                break
            if max(packed_bytes, raw_bytes) > _LONGEST_FRAME:
                raise self.damaged("a section exceeds the maximum length")
            yield self._unpack(self._read(packed_bytes), raw_bytes)
        expected = self._hash.digest()
        if self._file.read(len(expected)) != expected:
            raise self.damaged("its checksum does not match")
        if self._file.read(1):
            raise self.damaged("data follows the end of the backup")

    def damaged(self, reason: object) -> BackupError:
        return BackupError(f'"{self._path}" is damaged: {reason}; use another backup')

    def _read_header(self) -> Header:
        line = self._file.readline(_LONGEST_HEADER)
        self._hash.update(line)
        try:
            found = msgspec.json.decode(line, type=_Format).format
            if found != FORMAT:
                raise BackupError(
                    f'"{self._path}" has format {found}, this version reads {FORMAT}; use a newer version of homeostat'
                )
            return msgspec.json.decode(line, type=Header)
        except msgspec.DecodeError as error:
            raise self.damaged(error) from error

    def _unpack(self, packed: bytes, raw_bytes: int) -> list[Row]:
        try:
            # Never unpacks more than the announced length.
            stream = zlib.decompressobj()
            raw = stream.decompress(packed, raw_bytes)
            if len(raw) != raw_bytes or not stream.eof or stream.unused_data:
                raise self.damaged("a section has the wrong length")
            return _rows.decode(raw)
        except (zlib.error, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self.damaged(error) from error

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) != size:
            raise self.damaged("the file is truncated")
        self._hash.update(data)
        return data
