"""A uid is a UUID like any other."""

from __future__ import annotations

import uuid

from homeostat.server.uid import new_uid


def test_a_uid_is_a_random_uuid_in_its_usual_form() -> None:
    for _ in range(1000):
        text = new_uid()
        found = uuid.UUID(text)
        assert (str(found), found.version, found.variant) == (text, 4, uuid.RFC_4122)


def test_no_two_are_the_same() -> None:
    assert len({new_uid() for _ in range(10_000)}) == 10_000
