"""What operators have to say about writes, brought to the server: where both halves meet."""

from __future__ import annotations

from homeostat.objects.kind import Kind
from homeostat.runtime.setup import OperatorModule, Setup
from homeostat.server.admission.guards import Guards


def expect_guards(guards: Guards, name: str, module: OperatorModule) -> None:
    """Before the operator is set up: nothing that it guards is written until then."""
    for each in module.KINDS:
        if each.is_guarded:
            guards.expect(_owner(name), _resource(each.kind))


def put_guards(guards: Guards, setup: Setup) -> None:
    guards.put(_owner(setup.name), {_resource(kind): check for kind, check in setup.guards.items()})


def _owner(name: str) -> str:
    return f'the operator "{name}"'


def _resource(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural
