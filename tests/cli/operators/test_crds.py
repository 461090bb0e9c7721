"""`homeostat crds`: definitions that a real kubectl applies."""

from __future__ import annotations

import subprocess
from pathlib import Path

from homeostat.objects import yaml
from tests.cli.running import Cli, Up
from tools.build_kubectl import find_kubectl

GREETER = Path(__file__).parents[1] / "greeter.py"
NAME = "greetings.example.test"


def test_definitions_are_printed_as_documents_or_as_one_list(cli: Cli) -> None:
    printed = cli.here("crds", "--operators", GREETER)
    (document,) = yaml.load_all(printed.out.encode())
    listed = cli.here("crds", "--operators", GREETER, "-o", "json")
    assert (printed.code, listed.code) == (0, 0)
    assert (document["kind"], document["metadata"]["name"]) == ("CustomResourceDefinition", NAME)
    assert listed.json["items"] == [document]


def test_more_operators_are_more_documents(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(GREETER.read_text().replace("greetings", "farewells").replace('"Greeting"', '"Farewell"'))
    printed = cli.here("crds", "--operators", f"{GREETER},{other}")
    assert [each["spec"]["names"]["plural"] for each in yaml.load_all(printed.out.encode())] == [
        "greetings",
        "farewells",
    ]


def test_two_operators_of_the_same_name_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "greeter.py").write_text(GREETER.read_text())
    ended = cli.here("crds", "--operators", f"{GREETER},{tmp_path}/greeter.py")
    assert ended.code == 2
    assert "have the same name; rename one" in ended.err


def test_kubectl_applies_what_is_printed_and_then_there_is_nothing_to_change(up: Up) -> None:
    program = find_kubectl()
    definitions = up.cli("crds", "--operators", GREETER).out

    def kubectl(*arguments: str) -> str:
        command = [str(program), "--kubeconfig", str(up.data / "kubeconfig"), *arguments]
        done = subprocess.run(command, input=definitions, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = f"customresourcedefinition.apiextensions.k8s.io/{NAME} serverside-applied\n"
    assert kubectl("apply", "--server-side", "-f", "-") == told
    kubectl("wait", "--for=condition=Established", "--timeout=10s", f"crd/{NAME}")
    before = kubectl("get", "crd", NAME, "-o", "jsonpath={.metadata.resourceVersion}")
    assert kubectl("diff", "--server-side", "-f", "-") == ""
    assert kubectl("apply", "--server-side", "-f", "-") == told
    assert kubectl("get", "crd", NAME, "-o", "jsonpath={.metadata.resourceVersion}") == before


def test_the_definitions_of_actions_that_are_kept_are_those_of_the_code(cli: Cli) -> None:
    kept = Path(__file__).parents[3] / "deploy" / "crds" / "actions.yaml"
    assert kept.read_text() == cli.here("crds", "--operators", "actions").out, (
        "to write them: homeostat crds --operators actions > deploy/crds/actions.yaml"
    )
