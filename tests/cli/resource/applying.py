"""Resources applied by the command, from standard input."""

from __future__ import annotations

from typing import Any

from tests.cli.running import Cli, Ended
from tests.cli.shelf import text_of


def applied(cli: Cli, *objects: Any, options: tuple[str, ...] = ("--wait",)) -> Ended:
    return cli.here("resource", "apply", "-f", "-", *options, stdin=text_of(*objects))
