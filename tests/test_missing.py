"""A test whose program is missing is skipped, and no other."""

from __future__ import annotations

import pytest

from tests.missing import missing_program
from tools.provision import MissingProgramError

LACKED = MissingProgramError("no docker-registry")


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (LACKED, LACKED),
        (ExceptionGroup("unhandled errors in a TaskGroup", [LACKED]), LACKED),
        (ExceptionGroup("outer", [ExceptionGroup("inner", [LACKED])]), LACKED),
        (ExceptionGroup("both", [LACKED, ValueError("another")]), None),
        (ValueError("another"), None),
    ],
    ids=["alone", "in-a-group", "in-two-groups", "beside-another", "another"],
)
def test_a_missing_program_is_found_where_nothing_else_failed(
    error: Exception, found: MissingProgramError | None
) -> None:
    assert missing_program(error) is found
