"""Regular expressions in RE2's syntax whose time is linear in the text, whatever the pattern.

`syntax` reads a pattern into a tree and refuses what Go's `regexp` refuses (look-around, back-references). `rendering`
writes the tree in the dialect of a Rust engine, which answers whether a text matches; `machine` simulates all
alternatives at once to find where. Python's own `re` takes exponential time on patterns a user may send, so it is
never used on them. The patterns of schemas (`objects.schema.pattern`) are the same. Decision 19 compares with RE2.
"""

from __future__ import annotations

from homeostat.cel.regex.pattern import MOST_STEPS, SLIGHT_WEIGHT, Pattern, compile_pattern
from homeostat.cel.regex.syntax import PatternError

__all__ = ["MOST_STEPS", "SLIGHT_WEIGHT", "Pattern", "PatternError", "compile_pattern"]
