"""Options that several commands share, each with one meaning everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

RECURSIVE: Final = click.option("-r", "--recursive", is_flag=True, help="All resources below the path.")
EXCLUDE: Final = click.option("--exclude", default=None, help="Names of items to leave out, with commas.")
HTTP_METHOD: Final = click.option("--http-method", default="", help="Use this method.")
REFRESH: Final = click.option("--refresh", is_flag=True, help="Save what the server made of it into the repository.")
PAYLOAD: Final = click.option(
    "-f", "--payload", default=None, help="This payload instead of the repository's: a file, -, or inline."
)
CONTENT_TYPE: Final = click.option("--content-type", default="", help="The format of the payload.")
INPUT: Final = click.option("-f", "--payload", default="-", help="The payload: a file, - for standard input, or JSON.")
CONTEXT: Final = click.option(
    "-f", "--payload", default=None, help="The context: a file, - for standard input, or JSON."
)
MESSAGE: Final = click.option("-m", "--message", default="", help="Text to add to the message of the commit.")
PUSH: Final = click.option("--push", is_flag=True, help="Push the commit.")
PRUNE_DEFAULTS: Final = click.option("--prune-defaults", is_flag=True, help="Leave out values that equal the defaults.")
ALLOW_PLAINTEXT: Final = click.option(
    "--allow-plaintext", is_flag=True, help="Write what looks like a secret as it is."
)
SHOW_SECRETS: Final = click.option("--show-secrets", is_flag=True, help="Show secrets instead of ***.")
SOURCE: Final = click.option(
    "--source",
    type=click.Choice(["managed-service", "repository"]),
    default="managed-service",
    help="Where to read.  [default: managed-service]",
)
COMPARE: Final = click.option(
    "--compare",
    type=click.Choice(["declared", "exact"]),
    default="declared",
    help="Whether fields that only the server has count as differences.  [default: declared]",
)


def deletion_limits(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a plan may delete."""
    for each in (
        click.option(
            "--max-deletion-percent",
            type=click.IntRange(0, 100),
            default=25,
            show_default=True,
            help="Hold all deletions if they are a larger share of our objects.",
        ),
        click.option(
            "--max-deletions",
            type=click.IntRange(0),
            default=100,
            show_default=True,
            help="Hold all deletions if there are more.",
        ),
        click.option("--protect", multiple=True, metavar="PATH", help="Never delete this path; may be a glob."),
    ):
        function = each(function)
    return function
