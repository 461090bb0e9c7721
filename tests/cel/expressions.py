"""Expressions on which this implementation and Google's agree: a file a subject, a line an expression.

The variables are those of `oracle.py`. Where the two differ on purpose, `test_oracle.py` says why.
"""

from __future__ import annotations

from pathlib import Path

_FILES = sorted((Path(__file__).parent / "tables").glob("*.txt"))


def expressions() -> list[str]:
    return [line for file in _FILES for line in file.read_text(encoding="utf-8").split("\n") if line]
