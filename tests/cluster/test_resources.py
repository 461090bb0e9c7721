"""The commands of resource types and resources beside a cluster: the operator in a process of its own, no plane."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Cli, make_cli
from tests.cli.shelf import Shelf, crate, crate_type, serving_shelf, text_of
from tests.cluster.running import Cluster

OPERATOR = "actions"


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with serving_shelf() as found:
        yield found


@pytest.fixture
def cli(cluster: Cluster, tmp_path: Path) -> Iterator[Cli]:
    """On the cluster, with the operator beside it."""
    own = make_cli(tmp_path / "data")
    cli = Cli({**own.environment, "KUBECONFIG": str(cluster.kubeconfig)})
    definitions = cli("crds", "--operators", OPERATOR).out
    applied = cli("apply", "-f", "-", stdin=definitions)
    assert applied.code == 0, applied.err
    process = cli.start("run", "--operators", OPERATOR, "--health", "none")
    try:
        yield cli
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_a_resource_lives_and_goes_beside_a_cluster(cli: Cli, shelf: Shelf) -> None:
    added = cli("type", "add", "-f", "-", "--timeout", "25", stdin=text_of(crate_type(shelf)))
    assert (added.code, added.out.splitlines()[-1]) == (0, "Crate/v1 is ready: crates"), added.err
    plan = cli("plan", "-f", "-", "--detailed-exitcode", stdin=text_of(crate("one")))
    assert (plan.code, shelf.items) == (4, {})
    applied = cli("resource", "apply", "-f", "-", "--wait", "--timeout", "20", stdin=text_of(crate("one")))
    assert applied.out.splitlines() == ["crate/one created", "crate/one is ready"], applied.err
    assert cli("plan", "-f", "-", "--detailed-exitcode", stdin=text_of(crate("one"))).code == 0
    assert cli("resource", "list").rows[1][:4] == ["Crate", "one", "ready", "True"]
    shelf.items["one"]["size"] = 8
    assert cli("resource", "reconcile", "crate/one", "--timeout", "20").code == 0
    assert shelf.items["one"]["size"] == 1
    refused = cli("type", "delete", "Crate")
    assert (refused.code, "in use" in refused.err) == (1, True)
    gone = cli("resource", "delete", "crate/one", "--wait", "--timeout", "20")
    assert (gone.code, shelf.items) == (0, {}), gone.err
    assert [row[3] for row in cli("resource", "history", "crate/one").rows[1:]] == ["deletion", "manual", "initial"]
    assert cli("type", "delete", "Crate").out == "Crate/v1 is gone\n"
