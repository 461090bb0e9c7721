"""`can-deploy` and `impact`: over a directory of contracts, and over the Pactos of a plane."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.operators.contracts.api import PACTO
from tests.cli.contract.workspace import Workspace
from tests.cli.running import Up, make_cli, running


def contract(name: str, version: str, *needs: tuple[str, str, bool]) -> str:
    dependencies = [
        {"name": each, "ref": f"oci://r.example/c/{each}", "compatibility": wanted, "required": required}
        for each, wanted, required in needs
    ]
    return json.dumps(
        {"pactoVersion": "1.2", "service": {"name": name, "version": version}, "dependencies": dependencies}
    )


@pytest.fixture
def shop(bare: Workspace) -> Workspace:
    bare.write(
        {
            "env/ledger/pacto.yaml": contract("ledger", "1.4.0"),
            "env/shop/pacto.yaml": contract("shop", "3.0.0", ("ledger", "^1", True)),
            "env/web/front/pacto.yaml": contract("front", "1.0.0", ("shop", ">=2", True)),
            "env/report/pacto.yaml": contract("report", "1.0.0", ("ledger", "~1.4", False)),
            "new/ledger/pacto.yaml": contract("ledger", "2.0.0"),
            "new/shop/pacto.yaml": contract("shop", "3.1.0", ("ledger", "^1.4", True), ("mail", "*", False)),
            "new/gate/pacto.yaml": contract("gate", "1.0.0", ("ledger", "^2", True)),
        }
    )
    return bare


@pytest.mark.parametrize(
    ("bundle", "arguments", "code"),
    [
        ("new/shop", (), 0),
        ("new/shop", ("--strict",), 1),
        ("new/gate", (), 1),
        ("new/ledger", (), 1),
        ("env/ledger", (), 0),
    ],
)
def test_the_versions_that_run_decide(shop: Workspace, bundle: str, arguments: tuple[str, ...], code: int) -> None:
    assert shop.run("can-deploy", bundle, "--contracts", "env", *arguments).code == code


def test_what_is_unmet_and_who_breaks_is_named(shop: Workspace) -> None:
    assert shop.run("can-deploy", "new/ledger", "--contracts", "env", "-o", "json").json == {
        "service": "ledger",
        "version": "2.0.0",
        "running": ["1.4.0"],
        "canDeploy": False,
        "unmet": [],
        "breaks": [
            {
                "service": service,
                "dependency": "ledger",
                "compatibility": wanted,
                "version": "2.0.0",
                "required": required,
                "reason": "Incompatible",
            }
            for service, wanted, required in (("report", "~1.4", False), ("shop", "^1", True))
        ],
    }
    done = shop.run("can-deploy", "new/gate", "--contracts", "env")
    assert done.rows[1] == ["required", "ledger", "^2", "1.4.0", "Incompatible"]
    assert done.out.endswith("gate 1.0.0 cannot be deployed (env)\n")
    assert (
        "shop 3.1.0 can be deployed (env; 3.0.0 runs)" in shop.run("can-deploy", "new/shop", "--contracts", "env").out
    )


def test_every_service_that_is_reached_is_listed(shop: Workspace) -> None:
    found = shop.run("impact", "ledger", "--version", "2.0.0", "--contracts", "env", "-o", "json").json
    assert (found["blastRadius"], [each["service"] for each in found["affected"]]) == (2, ["shop", "front", "report"])
    assert [each["excluded"] for each in found["affected"]] == [True, False, True]
    assert found["affected"][1] == {
        "service": "front",
        "distance": 2,
        "via": "shop",
        "required": True,
        "excluded": False,
        "places": ["env/web/front"],
    }
    done = shop.run("impact", "ledger", "--contracts", "env")
    assert done.rows[1] == ["shop", "required", "1", "ledger", "env/shop"]
    assert done.out.endswith("ledger: 2 of 3 dependent services require it (env)\n")


def test_a_bundle_stands_for_its_service_and_version(shop: Workspace) -> None:
    found = shop.run("impact", "new/ledger", "--contracts", "env", "-o", "json").json
    assert found == shop.run("impact", "ledger", "--version", "2.0.0", "--contracts", "env", "-o", "json").json


@pytest.mark.parametrize(("most", "code"), [("2", 0), ("1", 1)])
def test_a_blast_radius_may_have_a_limit(shop: Workspace, most: str, code: int) -> None:
    assert shop.run("impact", "ledger", "--contracts", "env", "--max", most).code == code


@pytest.mark.parametrize(
    "arguments",
    [
        ("impact", "nobody", "--contracts", "env"),
        ("impact", "ledger", "--contracts", "nowhere"),
        ("impact", "ledger", "--contracts", "env", "-A"),
        ("impact", "ledger", "--contracts", "bin"),
        ("impact",),
        ("can-deploy", "new/shop", "--contracts", "env", "--max", "1"),
    ],
)
def test_wrong_usage_is_exit_code_2(shop: Workspace, arguments: tuple[str, ...]) -> None:
    (shop.directory / "bin").mkdir()
    assert shop.run(*arguments).code == 2


def test_contracts_that_cannot_be_read_are_reported(shop: Workspace) -> None:
    shop.write({"env/bad/pacto.yaml": "[]"})
    for arguments in (("impact", "ledger"), ("can-deploy", "new/shop")):
        done = shop.run(*arguments, "--contracts", "env")
        assert (done.code, "warning: env/bad: " in done.err) == (4, True)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """With Pactos whose statuses are written as the operator writes them."""
    data = tmp_path_factory.mktemp("up")
    with running(make_cli(data / "data"), "--operators", "policy") as up:
        definition = data / "crd.json"
        definition.write_bytes(msgspec.json.encode(PACTO.definition()))
        assert up.cli("apply", "-f", definition).code == 0
        up.cli("wait", "--for", "condition=Established", "crd/pactos.pacto.trianalab.io")
        for namespace in ("default", "other"):
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            (data / "ns.json").write_text(json.dumps(manifest))
            assert up.cli("apply", "-f", data / "ns.json").code == 0
        yield up


def _pacto(plane: Up, tmp_path: Path, name: str, version: str, namespace: str = "default", **more: Any) -> None:
    """Creates a Pacto and its status."""
    from tests.cli.running import https

    body = {
        "apiVersion": "pacto.trianalab.io/v1alpha1",
        "kind": "Pacto",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"contractRef": {"inline": "x"}, "target": more.get("target", {"serviceName": name})},
    }
    (tmp_path / "pacto.json").write_text(json.dumps(body))
    assert plane.cli("apply", "-f", tmp_path / "pacto.json").code == 0
    status = {
        "contractStatus": more.get("status", "Compliant"),
        "contractVersion": version,
        "contract": {"serviceName": name, "version": version},
        "resources": {"workload": {"name": name, "kind": "Deployment", "exists": more.get("exists", True)}},
        "dependencies": [
            {"name": each, "ref": f"oci://r.example/c/{each}", "required": True, "compatibility": wanted}
            for each, wanted in more.get("needs", {}).items()
        ],
    }
    connection = https(plane)
    path = f"/apis/pacto.trianalab.io/v1alpha1/namespaces/{namespace}/pactos/{name}/status"
    connection.request("PATCH", path, json.dumps({"status": status}), {"Content-Type": "application/merge-patch+json"})
    assert connection.getresponse().status == 200
    connection.close()


def test_pactos_of_a_cluster_are_asked(plane: Up, tmp_path: Path) -> None:
    _pacto(plane, tmp_path, "ledger", "1.4.0")
    _pacto(plane, tmp_path, "shop", "3.0.0", needs={"ledger": "^1"})
    _pacto(plane, tmp_path, "ledger", "0.9.0", "other")
    _pacto(plane, tmp_path, "planned", "1.0.0", status="Reference", target={})
    _pacto(plane, tmp_path, "absent", "1.0.0", exists=False)
    needs = {"new": ("ledger", "^1", True), "late": ("planned", "*", True), "lost": ("absent", "*", True)}
    for name, need in needs.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "pacto.yaml").write_text(contract(name, "1.0.0", need))
    assert plane.cli("contract", "can-deploy", tmp_path / "new").code == 0
    assert plane.cli("contract", "can-deploy", tmp_path / "new", "-A").code == 1
    assert plane.cli("contract", "can-deploy", tmp_path / "late").code == 1
    assert plane.cli("contract", "can-deploy", tmp_path / "lost").code == 1
    found = plane.cli("contract", "impact", "ledger", "-n", "default", "-o", "json").json
    assert [(each["service"], each["places"]) for each in found["affected"]] == [("shop", ["default/shop"])]
