"""Regular expressions in RE2's syntax whose time is linear in the text, whatever the pattern.

`syntax` reads a pattern into a tree and refuses what RE2 refuses (look-around, back-references). `rendering` writes
the tree in the dialect of a Rust engine, which answers whether a text matches; `machine` simulates all alternatives
at once to find where. Python's own `re` takes exponential time on patterns a user may send, so it is never used on
them.
"""

from __future__ import annotations

from homeostat.cel.regex.pattern import Pattern, compile_pattern

__all__ = ["Pattern", "compile_pattern"]
