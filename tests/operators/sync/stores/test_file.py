from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from homeostat.operators.sync.engine.errors import AuthError, NotFoundError, ValidationError
from homeostat.operators.sync.stores.envelope import Kdf, Lock, open_envelope, read_key
from homeostat.operators.sync.stores.file import FileStore

KDF = Kdf(1, 64, 1)
LOCK = Lock("correct horse", kdf=KDF)


async def test_a_secret_survives_in_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    path = tmp_path / "inner" / "secrets.json"
    await FileStore(path, LOCK).put({"a:/b": "välue"})
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"lue" not in path.read_bytes()
    again = FileStore(path, LOCK)
    assert await again.get("a:/b") == "välue"
    await again.delete("a:/b")
    with pytest.raises(NotFoundError):
        await again.get("a:/b")
    assert await FileStore(path, LOCK).keys() == []


async def test_each_write_has_a_new_salt_and_nonce(tmp_path: Path) -> None:
    path, seen = tmp_path / "s.json", set[tuple[str, str]]()
    for _ in range(3):
        await FileStore(path, LOCK).put({"k": "v"})
        value = json.loads(path.read_bytes())
        seen.add((value["salt"], value["nonce"]))
    assert len(seen) == 3


async def test_a_wrong_passphrase_is_an_auth_error(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    await FileStore(path, LOCK).put({"k": "v"})
    for lock in (Lock("other", kdf=KDF), Lock(key=bytes(32))):
        with pytest.raises(AuthError):
            await FileStore(path, lock).get("k")


async def test_a_raw_key_needs_no_derivation(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    await FileStore(path, Lock(key=bytes(32))).put({"k": "v"})
    assert set(json.loads(path.read_bytes())) == {"version", "nonce", "ciphertext"}
    assert await FileStore(path, Lock(key=bytes(32))).get("k") == "v"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"version": 1}',
        b'{"version": 2, "nonce": "", "ciphertext": ""}',
        b'{"version": 1, "nonce": "?", "ciphertext": ""}',
        b'{"version": 1, "salt": "c2FsdHNhbHRzYWx0", "nonce": "", "ciphertext": ""}',
        b'{"version":1,"salt":"c2FsdHNhbHRzYWx0","nonce":"","ciphertext":"","kdf_time":1,"kdf_memory":99999999}',
    ],
)
def test_a_file_of_another_form_is_refused(data: bytes) -> None:
    with pytest.raises(ValidationError):
        open_envelope(data, LOCK)


def test_a_key_has_32_bytes_in_any_of_three_forms() -> None:
    assert read_key("00" * 32) == bytes(32)
    assert read_key("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=") == bytes(32)
    assert read_key("x" * 32) == b"x" * 32
    with pytest.raises(ValidationError):
        read_key("short")


def test_a_lock_hides_its_secret() -> None:
    assert "correct" not in repr(LOCK)


async def test_stores_that_are_opened_at_the_same_time_do_not_wait_for_each_other(tmp_path: Path) -> None:
    lock = Lock("pp", kdf=Kdf(time=1, memory=256, threads=4))
    stores = [FileStore(tmp_path / f"{each}.json", lock) for each in range(4)]
    for each in stores:
        await each.put({"k": "v"})
    fresh = [FileStore(tmp_path / f"{each}.json", lock) for each in range(4)]
    async with asyncio.timeout(30):
        assert await asyncio.gather(*(each.get("k") for each in fresh for _ in range(3))) == ["v"] * 12


async def test_stores_that_change_one_file_at_the_same_time_lose_no_secret(tmp_path: Path) -> None:
    stores = [FileStore(tmp_path / "s.json", Lock(key=bytes(32))) for _ in range(8)]
    for each in stores:
        assert await each.keys() == []
    await asyncio.gather(*(store.put({f"k{number}": "v"}) for number, store in enumerate(stores)))
    fresh = FileStore(tmp_path / "s.json", Lock(key=bytes(32)))
    assert await fresh.keys() == [f"k{number}" for number in range(8)]


async def test_a_device_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe", tmp_path):
        with pytest.raises(ValidationError):
            await asyncio.wait_for(FileStore(path, LOCK).check(), 5)
