"""A backup's file is private, whole or not there, and believed only if every byte is as it was written."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from homeostat.store.backup.backup import verify
from homeostat.store.backup.file import BackupError, BackupWriter, Header, writing
from homeostat.store.backup.rows import Row
from homeostat.store.base import StoreError
from homeostat.store.seal import Seal
from tests.full_disk import full_disk
from tests.store.backups import SqlitePlace, backed_up, restored
from tests.store.contract import PODS, pod, put

HEADER = Header(revision=4, oldest=2, swept=2, rows=3, records=2, seal="", made=0.0)
ROWS = [
    Row(1, "pods", "default", "a", 1, 1, 0, b"one"),
    Row(3, "pods", "default", "b", 1, 3, 0, b"three"),
    Row(4, "pods", "default", "a", 2, 1, 1, b"four"),
]


def write(path: Path, header: Header = HEADER, rows: list[Row] = ROWS) -> bytes:
    with writing(path) as (file, _):
        writer = BackupWriter(file, header)
        writer.add(rows)
        writer.finish()
    return path.read_bytes()


def overwrite(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def left_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if "backup" in each.name]


def write_half(path: Path) -> None:
    with writing(path) as (file, _):
        file.write(b"half")
        raise StoreError("the rest cannot be had")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.backup"


async def test_what_was_written_is_verified(path: Path) -> None:
    write(path)
    verified = await verify(path)
    assert verified.header == HEADER
    assert verified.live == {3, 4}


def test_a_backup_is_for_its_owner_alone(path: Path) -> None:
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_second_line_says_what_is_in_it(path: Path) -> None:
    line = write(path).split(b"\n")[1]
    assert msgspec.json.decode(line) == {**msgspec.structs.asdict(HEADER), "format": 1}


async def test_any_byte_that_was_changed_is_noticed(path: Path) -> None:
    whole = write(path)
    for place in range(len(whole)):
        overwrite(path, whole[:place] + bytes([whole[place] ^ 0x04]) + whole[place + 1 :])
        with pytest.raises(BackupError):
            await verify(path)


async def test_a_backup_that_was_cut_anywhere_is_noticed(path: Path) -> None:
    whole = write(path)
    for length in range(len(whole)):
        overwrite(path, whole[:length])
        with pytest.raises(BackupError):
            await verify(path)


def _checksummed(content: bytes) -> bytes:
    return content + hashlib.sha256(content).digest()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(lambda whole: b"", "is not a backup", id="empty"),
        pytest.param(lambda whole: b"SQLite format 3\0" * 9, "is not a backup", id="another-file"),
        pytest.param(lambda whole: whole[:-40], "the file is truncated", id="cut"),
        pytest.param(lambda whole: whole[:-1], "its checksum does not match", id="cut-at-the-end"),
        pytest.param(lambda whole: whole + b"\0", "data follows the end of the backup", id="longer"),
        pytest.param(lambda whole: whole[:-1] + b"\0", "its checksum does not match", id="another-checksum"),
        pytest.param(
            lambda whole: _checksummed(whole.replace(b'"format":1', b'"format":2')[:-32]),
            "has format 2, this version reads 1; use a newer version",
            id="newer-format",
        ),
        pytest.param(lambda whole: whole.replace(b'"revision"', b'"revisio?"'), "revision", id="header"),
    ],
)
async def test_damage_is_reported(path: Path, damage: Callable[[bytes], bytes], words: str) -> None:
    overwrite(path, damage(write(path)))
    with pytest.raises(BackupError, match=words) as refused:
        await verify(path)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param(ROWS[:2], "found 2 changes, expected 3", id="fewer"),
        pytest.param([ROWS[0], ROWS[2]], "revision 3 is missing", id="gap"),
        pytest.param([ROWS[1], ROWS[0], ROWS[2]], "revision 1 follows 3", id="order"),
        pytest.param([ROWS[0], ROWS[0]], "revision 1 follows 1", id="twice"),
        pytest.param(ROWS[1:], "replaces 1, which does not exist", id="no-previous"),
        pytest.param([ROWS[0]._replace(operation=3)], "should have been compacted", id="old-deletion"),
        pytest.param([*ROWS[:2], ROWS[2]._replace(operation=3)], "found 1 records", id="another-count"),
    ],
)
async def test_rows_that_are_no_log_are_refused_whatever_the_checksum(path: Path, rows: list[Row], words: str) -> None:
    write(path, rows=rows)
    with pytest.raises(BackupError, match=words):
        await verify(path)


async def test_a_sealed_value_that_was_moved_is_refused(path: Path) -> None:
    seal = Seal({"pods"}, bytes(32))
    moved = seal.close(ROWS[0].key, 1, b"one")
    write(
        path,
        header=msgspec.structs.replace(HEADER, seal=seal.description()),
        rows=[row._replace(value=moved) for row in ROWS],
    )
    with pytest.raises(BackupError, match='pods "default/b" at revision 3 was altered'):
        await verify(path, seal=seal)


async def test_a_file_that_is_not_there_is_reported(path: Path) -> None:
    with pytest.raises(BackupError, match="cannot be read: No such file"):
        await verify(path)


def test_a_backup_that_fails_leaves_the_one_before(path: Path) -> None:
    before = write(path)
    with pytest.raises(StoreError, match="the rest"):
        write_half(path)
    assert path.read_bytes() == before
    assert left_in(path.parent) == [path.name]


@pytest.mark.parametrize("kind", ["file", "link", "directory"])
def test_only_a_backup_is_replaced(path: Path, tmp_path: Path, kind: str) -> None:
    other = tmp_path / "homeostat.db"
    match kind:
        case "file":
            other.write_bytes(b"SQLite format 3\0")
        case "link":
            write(path)
            other.symlink_to(path)
        case "directory":
            other.mkdir()
    with pytest.raises(BackupError, match="already exists and is not a backup"):
        write(other)
    assert {each.name for each in tmp_path.iterdir()} <= {other.name, path.name}


def test_a_later_backup_replaces_one_before(path: Path) -> None:
    write(path)
    later = write(path, header=msgspec.structs.replace(HEADER, made=1.0))
    assert path.read_bytes() == later


async def test_a_full_disk_leaves_no_backup(path: Path, tmp_path: Path) -> None:
    place = SqlitePlace(tmp_path)
    store = await place.open()
    for number in range(200):
        await put(store, pod(f"p{number}"), hashlib.sha512(str(number).encode()).hexdigest() * 3)
    with full_disk(), pytest.raises(BackupError, match="cannot be written: File too large"):
        await backed_up(place, path)
    await store.close()
    assert left_in(tmp_path) == []


async def test_a_full_disk_leaves_an_empty_store(path: Path, tmp_path: Path) -> None:
    place, other = SqlitePlace(tmp_path), SqlitePlace(tmp_path)
    store = await place.open()
    for number in range(40):
        await put(store, pod(f"p{number}"), str(number) * 1_000)
    await backed_up(place, path)
    await store.close()
    with full_disk(), pytest.raises(StoreError, match="cannot be written"):
        await restored(path, other)
    await restored(path, other)
    again = await other.open()
    assert again.count(PODS) == 40
    await again.close()
