"""What a command says about an error of the API."""

from __future__ import annotations

from homeostat.cli.console.connection import error_text
from homeostat.objects.errors import UnauthorizedError


def test_a_refused_credential_names_its_remedy() -> None:
    assert "--context" in error_text(UnauthorizedError("Unauthorized"))
