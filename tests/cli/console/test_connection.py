"""What a command says about an error of the API."""

from __future__ import annotations

import pytest

from homeostat.cli.console.connection import error_text
from homeostat.objects.errors import ApiError, Cause, ForbiddenError, NotFoundError, UnauthorizedError

HINT = "grant it with a RoleBinding or ClusterRoleBinding"


@pytest.mark.parametrize(
    ("error", "is_hinted"),
    [
        pytest.param(ForbiddenError("pods is forbidden", kind="pods"), True, id="an authorizer's"),
        pytest.param(ForbiddenError("the webhook says: you cannot do that"), False, id="a webhook's"),
        pytest.param(ForbiddenError("no", kind="pods", causes=[Cause("x", "y")]), False, id="a policy's"),
        pytest.param(NotFoundError("not found", kind="pods"), False, id="of another kind"),
    ],
)
def test_a_missing_permission_names_its_remedy(error: ApiError, is_hinted: bool) -> None:
    assert (HINT in error_text(error)) is is_hinted


def test_a_refused_credential_names_its_remedy() -> None:
    assert "--context" in error_text(UnauthorizedError("Unauthorized"))
