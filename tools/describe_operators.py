"""Writes `operator.json` of every operator of the package: what its module says, for those who do not import it.

python -m tools.describe_operators
"""

from __future__ import annotations

from homeostat.operators.catalog import OURS, kept_description, kept_file


def main() -> None:
    for name in OURS:
        kept_file(name).write_bytes(kept_description(name))


if __name__ == "__main__":
    main()
