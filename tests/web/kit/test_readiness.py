"""A page waits for its objects, but not for ever."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.web.kit import readiness
from homeostat.web.kit.refusal import RefusalError


async def test_a_page_whose_objects_are_not_listed_in_time_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "WITHIN_S", 0.01)
    await readiness.wait_ready(asyncio.sleep(0))
    with pytest.raises(RefusalError, match="not ready yet: Pods are not listed") as refused:
        await readiness.wait_ready(asyncio.sleep(60), "Pods are not listed")
    assert (refused.value.status, refused.value.headers) == (503, (("Retry-After", "5"),))
