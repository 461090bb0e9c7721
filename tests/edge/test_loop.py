from __future__ import annotations

import logging

import pytest

from homeostat.edge.loop import loop_factory


@pytest.mark.parametrize("message", ["SSL connection is closed", "socket.send() raised exception."])
def test_a_peer_that_leaves_early_does_not_fill_the_log(message: str, caplog: pytest.LogCaptureFixture) -> None:
    loop_factory()
    logging.getLogger("asyncio").warning(message)
    logging.getLogger("asyncio").warning("task was destroyed")
    assert [each.message for each in caplog.records] == ["task was destroyed"]
