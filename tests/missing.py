"""Which program a test lacked. Fixtures run servers in task groups, so the error may come in a group, or in several."""

from __future__ import annotations

from tools.provision import MissingProgramError


def missing_program(error: BaseException) -> MissingProgramError | None:
    """None if something else failed, too: that is to be seen."""
    if isinstance(error, BaseExceptionGroup):
        found = [missing_program(each) for each in error.exceptions]
        return found[0] if all(found) else None
    return error if isinstance(error, MissingProgramError) else None
