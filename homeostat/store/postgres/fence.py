"""What was shown and is lost again: a database that was set back is led beyond it.

A standby that lacked the newest commits took over, or an older state was restored. Clients hold revisions of what was
lost; given again, they would name something else, and a watch that resumes would skip it. So whoever has shown more
than the database knows raises its revision above that and forgets history, as a restored backup does: every watch
from before answers 410 and lists anew. Replicas that follow cannot, and are opened again.
"""

from __future__ import annotations

from homeostat.store.postgres.database import Connection
from homeostat.store.postgres.statements import NEWEST, Pen


async def raise_fence(connection: Connection, pen: Pen, *, above: int) -> int:
    """The revision below which nothing is watched any more; above `above`, whoever came first."""
    async with connection.transaction():
        await pen.hold_section(connection)
        found = await connection.fetchrow(f"SELECT {NEWEST}, compacted FROM mark FOR UPDATE")  # noqa: S608
        assert found is not None
        newest, compacted = found
        if compacted > above:
            return int(compacted)
        fence = max(newest, above) + 1
        await pen.skip_to(connection, fence, newest=newest)
        await connection.execute("UPDATE mark SET compacted = $1", fence)
    return int(fence)
