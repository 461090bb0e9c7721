"""`homeostat contract`: writes, validates, compares and publishes service contracts.

Sub-commands are imported only when used.

Commands, options, output and exit codes are those of the original tool, so that a script only changes its first word.
Every failure is exit code 1. Wrong usage is 2, as everywhere in `homeostat`: of `diff` and others 1 is a verdict.
"""

from __future__ import annotations

from typing import Final

import click

from homeostat.cli.contract.session.settings import add_global_options, global_options, without_values
from homeostat.cli.group import LazyGroup

COMMANDS: Final = {
    "Write": {
        "init": "Create a new bundle.",
        "validate": "Validate bundles.",
        "explain": "Summarize a contract.",
    },
    "Check": {
        "check": "Check manifests or a live workload against a contract.",
        "can-deploy": "Check a version against the versions that run.",
        "impact": "List the services that a change affects.",
    },
    "Compare": {
        "diff": "Compare two contracts and classify the changes.",
        "graph": "Show the dependencies of a contract.",
        "lock": "Record what references resolve to, or check it.",
    },
    "Use": {
        "doc": "Print, write or serve the documentation of a contract.",
        "generate": "Generate files from a contract with a plugin.",
        "mcp": "Serve contracts to language models.",
        "version": "Print the version.",
    },
    "Publish": {
        "pack": "Write a bundle to a file.",
        "push": "Publish a bundle to a registry.",
        "pull": "Fetch a bundle from a registry.",
        "login": "Store the credentials of a registry.",
        "logout": "Remove the credentials of a registry.",
    },
}
_INSTEAD: Final = {
    "update": "update homeostat with the program that installed it, such as pip",
    "dashboard": "use: homeostat up --operators contracts",
}


class ContractGroup(LazyGroup):
    """Takes global options before and after the command, as the original."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        return add_global_options(command) if command is not None else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, without_values(self, args))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, found, rest = super().resolve_command(ctx, args)
        return name, found, rest if found is None else without_values(found, rest)


@click.command(
    cls=ContractGroup,
    package=__name__,
    sections=COMMANDS,
    modules={name: f"publish.{name}" for name in COMMANDS["Publish"]},
    instead=_INSTEAD,
    params=global_options(),
    short_help="Write, validate, compare and publish service contracts.",
)
def command() -> None:
    """Write, validate, compare and publish service contracts.

    A contract is a pacto.yaml in a directory, its bundle, together with the files that it names. BUNDLE is such a
    directory, or a reference to a registry: oci://HOST/REPOSITORY[:TAG][@DIGEST]. Without tag and digest it is the
    highest version.

    \b
    Examples:
      homeostat contract init billing
      homeostat contract validate billing
      homeostat contract push oci://registry.example.org/contracts/billing -p billing
      homeostat contract diff oci://registry.example.org/contracts/billing billing
    """
