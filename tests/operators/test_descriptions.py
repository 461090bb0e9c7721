"""What is kept of an operator beside its module is what the module says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from homeostat.operators import actions
from homeostat.operators.catalog import OURS, find_operator, kept_description, kept_file
from homeostat.runtime.faces.face import opener_of, rules_of_face


@pytest.mark.parametrize("name", OURS)
def test_the_description_that_is_kept_is_that_of_the_module(name: str) -> None:
    assert kept_file(name).read_bytes() == kept_description(name), (
        "to write it anew: python -m tools.describe_operators"
    )


@pytest.mark.parametrize("name", OURS)
def test_what_a_description_names_is_there(name: str) -> None:
    for face in find_operator(name).faces:
        assert callable(opener_of(face))
        assert rules_of_face(face).cluster or rules_of_face(face).namespace


def test_operators_are_described_without_being_imported() -> None:
    program = """
import sys
from homeostat.operators.catalog import OURS, find_operator
found = [find_operator(name) for name in OURS]
assert all(each.definitions() for each in found)
print([each for each in sys.modules if each.startswith(("homeostat.web", *(f"{module}." for module in OURS.values())))])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_operator_that_is_loaded_imports_nothing_more_to_be_set_up() -> None:
    """A plane loads it in a thread and sets it up on the event loop."""
    program = """
import asyncio, sys
from homeostat.client.base import Client
from homeostat.operators.catalog import OURS, load_operator
from homeostat.runtime.manager import Manager

async def main():
    for name in OURS:
        module = load_operator(name)
        before = set(sys.modules)
        Manager(Client(None)).add(name, module.register, module.KINDS)
        print(*(each for each in sys.modules if each not in before))

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


class _Reads(Mapping[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_settings_are_those_that_a_check_reads() -> None:
    environment = _Reads()
    actions.check_environment(environment)
    # The command line sets this one, and refuses what it does not know.
    assert environment.names - {"HOMEOSTAT_ALLOW_PROGRAMS"} == set(actions.SETTINGS)
