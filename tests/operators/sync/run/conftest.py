from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.operators.sync.cases import Rest, rest_server


@pytest.fixture(scope="package")
def rest() -> Iterator[Rest]:
    with rest_server() as server:
        yield server
