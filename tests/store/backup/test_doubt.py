"""A database is not believed: what it gives for a backup, and what it has kept of one."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from homeostat.store.backup.file import BackupError
from homeostat.store.base import StoreError
from tests.postgres import Postgres
from tests.store.backups import PostgresPlace, SqlitePlace, backed_up, restored
from tests.store.contract import pod, put


async def told(place: PostgresPlace, sql: str) -> None:
    connection = await asyncpg.connect(place.url, server_settings={"search_path": place.schema})
    await connection.execute(sql)
    await connection.close()


def files(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


@pytest.fixture
def place(postgres: Postgres) -> PostgresPlace:
    return PostgresPlace(postgres.url)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        pytest.param("DELETE FROM log WHERE revision = 2", "revision 2 is missing", id="a-row-is-gone"),
        pytest.param("DELETE FROM log WHERE revision = 3", "the last change is revision 2", id="the-last-row-is-gone"),
    ],
)
async def test_a_backup_of_a_damaged_log_does_not_get_its_name(
    place: PostgresPlace, tmp_path: Path, damage: str, reason: str
) -> None:
    store = await place.open()
    for step, name in enumerate("aba"):
        await put(store, pod(name), str(step))
    await store.close()
    await backed_up(place, tmp_path / "backup")
    before = files(tmp_path)
    await told(place, damage)

    with pytest.raises(BackupError, match=reason):
        await backed_up(place, tmp_path / "backup")
    assert files(tmp_path) == before


async def test_a_database_that_keeps_other_values_is_left_empty(place: PostgresPlace, tmp_path: Path) -> None:
    source = SqlitePlace(tmp_path)
    store = await source.open()
    await put(store, pod("a"), "1")
    await store.close()
    await backed_up(source, tmp_path / "backup")
    await (await place.open()).close()
    await told(
        place,
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.value = 'spoilt'; RETURN NEW; END $$;"
        "CREATE TRIGGER spoil BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION spoil()",
    )

    with pytest.raises(StoreError, match="the restored records differ from the backup"):
        await restored(tmp_path / "backup", place)
    again = await place.open()
    assert again.revision == 0
    await again.close()
