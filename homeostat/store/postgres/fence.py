"""Raises the revision of a database that lost commits, so that no revision is assigned twice.

Commits are lost when a standby that lacks them is promoted, or when the database is restored from a backup. Clients
hold the lost revisions. If they were assigned again, a resumed watch would skip changes. So a replica that has shown
more than the database has raises the revision above its own and drops history, as restoring a backup does: every older
watch gets a 410 and lists again. The other replicas cannot follow that and are opened again.
"""

from __future__ import annotations

from homeostat.store.postgres.database import Connection
from homeostat.store.postgres.statements import NEWEST, BatchWriter


async def raise_fence(connection: Connection, batch_writer: BatchWriter, *, above: int) -> int:
    """Returns the new revision, which is above `above`, even if another replica raised it first."""
    async with connection.transaction():
        await batch_writer.hold_section(connection)
        found = await connection.fetchrow(f"SELECT {NEWEST}, compacted FROM mark FOR UPDATE")  # noqa: S608
        assert found is not None
        newest, compacted = found
        if compacted > above:
            return int(compacted)
        fence = max(newest, above) + 1
        await batch_writer.skip_to(connection, fence, newest=newest)
        await connection.execute("UPDATE mark SET compacted = $1", fence)
    return int(fence)
