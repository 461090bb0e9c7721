"""The options of `homeostat up` about its audit log: `--audit-log`, `--audit-policy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from homeostat.cli.console.failure import Failure

if TYPE_CHECKING:
    from homeostat.server.audit.policy import Policy


class Audit(NamedTuple):
    log: Path | None
    policy: Path | None

    def read_policy(self) -> Policy | None:
        """None if no file is given."""
        if self.policy is None:
            return None
        if self.log is None:
            raise click.UsageError("--audit-policy needs --audit-log, the file to log to")
        from homeostat.server.audit.policy import AuditPolicyError, parse_policy

        try:
            return parse_policy(self.policy.read_bytes())
        except (AuditPolicyError, OSError) as error:
            raise Failure(f'invalid audit policy "{self.policy}": {error}') from error


def audit_options(function: Callable[..., None]) -> Callable[..., None]:
    """Gives the command `audit`."""

    @click.option(
        "--audit-log",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Log requests to this file: who did what, on which object, with what result.",
    )
    @click.option(
        "--audit-policy",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Policy of audit.k8s.io/v1 that says which requests are logged, and how much of them.",
    )
    @wraps(function)
    def command(*args: object, audit_log: Path | None, audit_policy: Path | None, **options: object) -> None:
        log = audit_log.absolute() if audit_log is not None else None
        function(*args, audit=Audit(log=log, policy=audit_policy), **options)

    return command
