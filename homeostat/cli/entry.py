"""The entry point of the installed program. It has no imports, so that it can set up the interpreter before them."""

from __future__ import annotations

import gc

_THRESHOLD = 100_000
"""Of new objects, after which garbage is looked for. Imports create some 50,000 objects and no garbage, and most
commands end soon; the default of 700 took 3 % of the start of a plane."""


def main() -> None:
    gc.set_threshold(_THRESHOLD)
    from homeostat.cli.terminal import guard_terminal

    guard_terminal()
    from homeostat.cli.main import main as command

    command()
