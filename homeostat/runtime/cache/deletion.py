"""A deletion that the server has carried out, until the watch has told of it. Pure.

Other writes are answered with the version that they led to; of an object that went at once the answer tells only the
uid, and of one that went with its last finalizer a cluster tells the version before. So what is held is compared with
what was deleted. Where a projection does not name the uid and the deletion's time, the newest version that was known
when the deletion was asked for has to do: an object that is no newer was there then.
"""

from __future__ import annotations

from typing import NamedTuple

from homeostat.runtime.cache.decoding import Projected, version_of


class Deletion(NamedTuple):
    uid: str
    known: int
    """The newest version that was known when the deletion was asked for."""
    is_final: bool = False
    """It was being deleted before, and now is gone."""

    def is_unseen_in(self, held: Projected) -> bool:
        """Whether the object is the one that was deleted, as it was before. A namesake that came later is not, nor is
        one that shows that it is being deleted, unless that is known already.
        """
        metadata = held.metadata
        uid = getattr(metadata, "uid", "")
        if not uid or not hasattr(metadata, "deletion_timestamp"):
            return version_of(held) <= self.known
        return bool(uid == self.uid) and (self.is_final or metadata.deletion_timestamp is None)
