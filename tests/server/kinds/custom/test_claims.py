"""Names that a definition claims while it is being written."""

from __future__ import annotations

from homeostat.server.kinds.custom.definition import DefinitionBehaviour
from homeostat.server.kinds.registry import Registry
from tests.cluster.test_names import definition

NOW = "2026-01-01T00:00:00Z"


def reason(behaviour: DefinitionBehaviour, plural: str, writer: int) -> str:
    """Why the names of the definition are accepted or not. All definitions are of the same kind."""
    obj = definition("example.com", plural, "Thing", singular=plural)
    behaviour.prepare(obj, None, NOW, writer=writer)
    return str(obj["status"]["conditions"][0]["reason"])


def test_the_end_of_a_write_leaves_the_claim_of_another_write_of_the_same_object() -> None:
    behaviour = DefinitionBehaviour(Registry(), lambda _: None)
    assert [reason(behaviour, "apples", writer) for writer in (1, 2)] == ["NoConflicts", "NoConflicts"]
    behaviour.release(2)
    assert reason(behaviour, "pears", 3) == "ListKindConflict"
    behaviour.release(3)
    behaviour.release(1)
    assert reason(behaviour, "pears", 4) == "NoConflicts"
