"""Specs with variables of the operator's environment in place of `${NAME}`. Pure: the environment is passed in.

Only a string that is `${NAME}` as a whole is replaced, and only at run time: the stored object keeps it. Specs can read
the variables that whoever starts the operator lists, and no others: whoever may declare a server could have any other
one sent there. A listed variable that is not set is empty; a variable that is not listed makes the spec invalid,
whether it is set or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

import msgspec

from homeostat.operators.sync.context.document import expanded

S = TypeVar("S", bound=msgspec.Struct)
LISTED: Final = "SYNC_VARIABLES"
"""The variable with the list: names, or beginnings of names with `*` behind them, separated by commas."""
_OWN: Final = ("HOMEOSTAT_", "KUBERNETES_")
_is_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?").fullmatch


class Variables(Mapping[str, str]):
    """The variables that specs can read. `proxies` are those of proxies, which only the operator itself uses."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Raises `ValueError` for an invalid list."""
        self._listed = _listed(environment.get(LISTED, ""))
        self._values = {key: value for key, value in environment.items() if self._is_listed(key)}
        self.proxies = {key: value for key, value in environment.items() if key.lower().endswith("_proxy")}

    def _is_listed(self, name: str) -> bool:
        return not name.startswith(_OWN) and any(
            name.startswith(each[:-1]) if each.endswith("*") else name == each for each in self._listed
        )

    def __getitem__(self, name: str) -> str:
        if not self._is_listed(name):
            raise msgspec.ValidationError(
                f"${{{name}}}: specs cannot read this variable; list it in --sync-variables of the operator, "
                "or use a literal value or a Secret"
            )
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _listed(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, (each.strip() for each in text.split(","))))
    for each in names:
        if not _is_name(each):
            raise ValueError(f'{LISTED} lists "{each}"; expected names of variables, or PREFIX*, separated by commas')
        if each.startswith(_OWN):
            raise ValueError(f'{LISTED} lists "{each}"; variables of Homeostat itself are not for specs')
    return names


def expand(spec: S, environment: Mapping[str, str]) -> S:
    """`msgspec.ValidationError` if a field is invalid with the value of its variable, or the variable not listed."""
    plain = msgspec.to_builtins(spec)
    found = expanded(plain, environment)
    return spec if found == plain else msgspec.convert(found, type(spec))
