"""No module reaches into the private names of another: what two modules share has a public name, or is one module."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "homeostat"
# Public by the documentation of Python, although they start with an underscore.
PUBLIC = frozenset({"_replace", "_asdict", "_make", "_fields", "_exit"})
# It extends a class of aiohttp, which has no other seam.
EXTENDS_A_LIBRARY = frozenset({"edge/responses.py"})
_access = re.compile(r"(?<=[\w\])])\.(_[a-z]\w*)")
_defined = re.compile(r"^(.*) [+|-]?= |^([^=\n]*?): |def (_\w+)", re.MULTILINE)
_name = re.compile(r"\b_[a-z]\w*")
_import = re.compile(r"^\s*from homeostat[\w.]* import (?:.*\W)?(_[a-z]\w*)", re.MULTILINE)
_aside = re.compile(r'"""[\s\S]*?"""|"[^"\n]*"|#.*|^\s*(?:from|import) .*', re.MULTILINE)


def foreign_names(source: str) -> set[str]:
    """Private names that are accessed as attributes, or imported, and not defined here."""
    found = _accessed_alone(source)
    if found:
        found = _accessed_alone(_aside.sub("", source)) - set(re.findall(r'"(_\w+)"', source))
    return found | set(_import.findall(source))


def _accessed_alone(code: str) -> set[str]:
    accessed = {*_access.findall(code)} - PUBLIC
    if not accessed:
        return accessed
    defined = {name for places in _defined.findall(code) for name in _name.findall(" ".join(places))}
    return accessed - defined


def test_no_module_reaches_into_the_private_names_of_another() -> None:
    found = {
        name: foreign_names(path.read_text())
        for path in sorted(PACKAGE.rglob("*.py"))
        if (name := path.relative_to(PACKAGE).as_posix()) not in EXTENDS_A_LIBRARY
    }
    assert len(found) > 1000
    assert {name: names for name, names in found.items() if names} == {}


def test_a_foreign_name_would_be_found() -> None:
    source = (
        "from homeostat.a import _b\nclass A:\n    _d: int\n    def _e(self):\n        self._c = other._x\n        "
    )
    source += "return self._d, self._e(), self._y._replace(a=1), f._c"
    assert foreign_names(source) == {"_b", "_x", "_y"}
